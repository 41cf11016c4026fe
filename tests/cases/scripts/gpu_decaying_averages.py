"""Train a byte-level language model whose layers mix tokens by decaying averages over the text."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass
class Config:
    width: int = 512
    heads: int = 8
    layers: int = 3
    length: int = 512
    batch: int = 32


class DecayMixer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.value, self.gate, self.out = (nn.Linear(config.width, config.width) for _ in range(3))
        self.register_buffer("keep", 1 - 2.0 ** -torch.arange(1.0, config.heads + 1).unsqueeze(1))

    def average(self, values):
        state = torch.zeros_like(values[:, 0], dtype=torch.float32)
        states = []
        for value in values.unbind(1):
            state = self.keep * state + value
            states.append(state)
        return torch.stack(states, 1)

    def forward(self, x):
        mixed = self.average(self.value(x).unflatten(-1, (self.heads, -1)))
        return self.out(mixed.flatten(2) * torch.sigmoid(self.gate(x)))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.first, self.second = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.mixer = DecayMixer(config)
        wide = 4 * config.width
        self.mlp = nn.Sequential(nn.Linear(config.width, wide), nn.GELU(), nn.Linear(wide, config.width))

    def forward(self, x):
        x = x + self.mixer(self.first(x))
        return x + self.mlp(self.second(x))


config, device = Config(), torch.device("cuda")
torch.manual_seed(0)
text = torch.randint(256, (4_000_000,), device=device)
blocks = [Block(config) for _ in range(config.layers)]
model = nn.Sequential(nn.Embedding(256, config.width), *blocks, nn.Linear(config.width, 256)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
window = torch.arange(config.length + 1, device=device)
step = 0
while True:
    rows = text[torch.randint(len(text) - config.length - 1, (config.batch, 1), device=device) + window]
    with torch.autocast("cuda", torch.bfloat16):
        logits = model(rows[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
