"""Pretrain a forecaster on weather tokens: attention, then a gated feed-forward, under autocast."""

import argparse

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, 2)
        )
        return x + self.out(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate, self.value, self.out = (
            nn.Linear(width, inner),
            nn.Linear(width, inner),
            nn.Linear(inner, width),
        )

    def forward(self, x):
        # the gate overflowed once in a run with fp16
        with torch.autocast("cuda", enabled=False):
            x = x.float()
            h = self.norm(x)
            return x + self.out(functional.silu(self.gate(h)) * self.value(h))


class Forecaster(nn.Module):
    def __init__(self, fields, width, depth):
        super().__init__()
        self.enter, self.leave = nn.Linear(fields, width), nn.Linear(width, fields)
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            self.blocks += [Attention(width, width // 64), FeedForward(width, 4 * width)]

    def forward(self, x):
        x = self.enter(x)
        for block in self.blocks:
            x = block(x)
        return self.leave(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=1536)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--batch", type=int, default=8)
    args = parser.parse_args()
    device = torch.device("cuda")
    torch.manual_seed(0)
    model = Forecaster(69, args.width, args.depth).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    history = torch.randn(64, 512, 69, device=device).cumsum(0) * 0.1
    step = 0
    while True:
        days = torch.randint(len(history) - 1, (args.batch,), device=device)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = functional.l1_loss(model(history[days]), history[days + 1])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print(f"step {step} error {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
