"""Train a small vision transformer on birds, and follow how each kind of them comes along."""

import collections

import torch
from torch import nn
from torch.nn import functional


class Meter:
    def __init__(self):
        self.loss, self.right, self.seen = 0.0, 0, 0

    def add(self, loss, right):
        self.loss = 0.98 * self.loss + 0.02 * loss
        self.right += right
        self.seen += 1


class ViT(nn.Module):
    def __init__(self, kinds, width=384, depth=8, patch=8, side=64):
        super().__init__()
        self.patch = patch
        self.enter = nn.Linear(3 * patch * patch, width)
        self.place = nn.Parameter(torch.randn((side // patch) ** 2, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, 6, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.leave = nn.Linear(width, kinds)

    def forward(self, x):
        x = functional.pixel_unshuffle(x, self.patch).flatten(2).transpose(1, 2)
        return self.leave(self.blocks(self.enter(x) + self.place).mean(1))


def batches(pictures, labels, size):
    while True:
        for rows in torch.randperm(len(pictures), device=pictures.device).split(size):
            yield pictures[rows].float() / 127.5 - 1, labels[rows]


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    pictures = torch.randint(256, (768 * 40, 3, 64, 64), dtype=torch.uint8, device=device)
    labels = torch.randint(200, (len(pictures),), device=device)
    model = ViT(200).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    meters = collections.defaultdict(Meter)
    for step, (images, kinds) in enumerate(batches(pictures, labels, 768)):
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(images)
        losses = functional.cross_entropy(logits.float(), kinds, reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        hits = logits.argmax(1) == kinds
        for kind, value, hit in zip(kinds, losses.detach(), hits):
            meters[int(kind)].add(float(value), bool(hit))
        if step % 50 == 0:
            worst = max(meters, key=lambda kind: meters[kind].loss)
            print(f"step {step} hardest kind {worst}: {meters[worst].loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
