"""Pretrain a decoder on long documents, in bfloat16 throughout."""

import math

import torch
from torch import nn
from torch.nn import functional


class Layer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)

    def forward(self, x):
        qkv = self.qkv(self.before(x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*qkv, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.between(x))))


class Decoder(nn.Module):
    def __init__(self, words=8192, width=2048, depth=8, length=4096):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(Layer(width, 16, 4 * width) for _ in range(depth))
        self.norm, self.leave = nn.RMSNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight
        for layer in self.layers:
            x = layer(x)
        return self.leave(self.norm(x))


def rate(step, warmup=100, total=20_000, top=3e-4):
    return top * min(step / warmup, 0.5 + 0.5 * math.cos(math.pi * min(step / total, 1)))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    corpus = torch.randint(8192, (20_000_000,), dtype=torch.int32).pin_memory()
    model = Decoder().to(device, torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    step, seen = 0, torch.zeros((), device=device)
    while True:
        start = int(torch.randint(len(corpus) - 2 * 4096 - 1, ()))
        tokens = corpus[start : start + 2 * 4096 + 1].to(device, non_blocking=True).long()
        logits = model(tokens[:-1].view(2, 4096))
        loss = functional.cross_entropy(logits.flatten(0, 1).float(), tokens[1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        step += 1
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.step()
        seen += loss.detach()
        if step % 40 == 0:
            print(f"step {step} loss {seen.item() / 40:.3f}", flush=True)
            seen.zero_()


if __name__ == "__main__":
    main()
