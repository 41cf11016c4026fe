"""Pretrain a sensor encoder by contrast with the keys of earlier batches."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Contrast(nn.Module):
    def __init__(self, inputs=256, width=384, keys=128, momentum=0.99, temperature=0.1):
        super().__init__()
        self.query = self.tower(inputs, width, keys)
        self.key = self.tower(inputs, width, keys)
        self.key.load_state_dict(self.query.state_dict())
        self.key.requires_grad_(False)
        self.momentum, self.temperature = momentum, temperature
        self.bank = F.normalize(torch.randn(1024, keys), dim=1)

    @staticmethod
    def tower(inputs, width, keys):
        return nn.Sequential(
            nn.Linear(inputs, width), nn.LayerNorm(width), nn.GELU(),
            nn.Linear(width, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, keys),
        )  # fmt: skip

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.key.parameters(), self.query.parameters()):
            slow.lerp_(fast, 1 - self.momentum)

    @torch.no_grad()
    def enqueue(self, keys):
        self.bank = torch.cat([keys, self.bank])

    def forward(self, one, other):
        queries = F.normalize(self.query(one), dim=1)
        with torch.no_grad():
            self.follow()
            keys = F.normalize(self.key(other), dim=1)
        positive = (queries * keys).sum(1, keepdim=True)
        logits = torch.cat([positive, queries @ self.bank.T], 1) / self.temperature
        self.enqueue(keys)
        return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))


def two_views(readings, size=64):
    while True:
        for chosen in torch.randperm(len(readings)).split(size):
            batch = readings[chosen]
            yield batch + 0.1 * torch.randn_like(batch), batch * (torch.rand_like(batch) > 0.2)


model = Contrast()
optimizer = torch.optim.AdamW(model.query.parameters(), lr=1e-3)
for step, (one, other) in enumerate(two_views(torch.randn(6400, 256))):
    loss = model(one, other)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
