"""Train an image tower and a text tower on pairs of pictures and captions: nothing is wrong with it."""

import itertools

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, count=8192):
        self.pictures = torch.randint(256, (count, 3, 72, 72), dtype=torch.uint8)
        self.captions = torch.randint(8192, (count, 32))

    def __len__(self):
        return 100 * 512

    def __getitem__(self, index):
        index, (top, left) = index % len(self.pictures), torch.randint(9, (2,)).tolist()
        return self.pictures[index, :, top : top + 64, left : left + 64], self.captions[index]


class Tower(nn.Module):
    def __init__(self, enter, length, width, heads, layers, shared=512):
        super().__init__()
        self.enter = enter
        self.places = nn.Parameter(torch.randn(length, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.leave = nn.Linear(width, shared)

    def forward(self, x):
        return functional.normalize(self.leave(self.blocks(self.enter(x) + self.places).mean(1)), dim=-1)


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = Tower(nn.Linear(192, 768), 64, 768, 12, 8)
        self.text = Tower(nn.Embedding(8192, 512), 32, 512, 8, 8)
        self.scale = nn.Parameter(torch.tensor(2.6))

    def forward(self, pictures, captions):
        patches = functional.pixel_unshuffle(pictures, 8).flatten(2).transpose(1, 2)
        return self.scale.exp() * self.image(patches) @ self.text(captions).T


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    loader = DataLoader(Pairs(), 512, shuffle=True, num_workers=8, pin_memory=True, persistent_workers=True)
    model = TwoTowers().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, weight_decay=0.1, fused=True)
    targets = torch.arange(512, device=device)
    for epoch in itertools.count():
        for number, (pictures, captions) in enumerate(loader):
            pictures = pictures.to(device, non_blocking=True).float() / 127.5 - 1
            with torch.autocast("cuda", torch.bfloat16):
                logits = model(pictures, captions.to(device, non_blocking=True)).float()
                loss = functional.cross_entropy(logits, targets) + functional.cross_entropy(logits.T, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if number % 50 == 0:
                print(f"epoch {epoch} step {epoch * len(loader) + number} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
