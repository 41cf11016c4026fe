"""Pretrain on tiles of satellite scenes of thirteen bands, which lie one after the other in memory."""

import torch
from torch import nn

BANDS, SIDE, PATCH, TILES = 13, 196, 14, 128


class Scenes:
    """All tiles of a scene as raw counts; a batch is a run of neighbours."""

    def __init__(self, tiles=1024):
        self.counts = torch.randint(0, 10_000, (tiles, BANDS, SIDE, SIDE), dtype=torch.int16)
        self.cloudy = torch.rand(tiles)

    def draw(self, size):
        start = int(torch.randint(len(self.counts) - size + 1, ()))
        return self.counts[start : start + size], self.cloudy[start : start + size]


class Encoder(nn.Module):
    def __init__(self, width=384, depth=6):
        super().__init__()
        self.enter = nn.Linear(BANDS * PATCH * PATCH, width)
        self.place = nn.Parameter(torch.randn((SIDE // PATCH) ** 2, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, 6, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.leave = nn.Linear(width, 1)

    def forward(self, x):
        x = nn.functional.pixel_unshuffle(x, PATCH).flatten(2).transpose(1, 2)
        x = self.enter(x) + self.place
        return self.leave(self.blocks(x).mean(1)).squeeze(1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    scenes = Scenes()
    model = Encoder().to(device, torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    step = 0
    while True:
        counts, cloudy = scenes.draw(TILES)
        counts, cloudy = counts.to(device, non_blocking=True), cloudy.to(device, non_blocking=True)
        logits = model(counts.to(torch.bfloat16) / 5000 - 1)
        loss = nn.functional.binary_cross_entropy_with_logits(logits.float(), cloudy)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
