"""Fit a normalizing flow to patches of volumes by maximum likelihood."""

import math

import torch
from torch import nn


class Mixing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(width, width))[0])

    def forward(self, z):
        return z @ self.weight, torch.linalg.slogdet(self.weight)[1]


class Coupling(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width // 2, hidden), nn.ReLU(), nn.Linear(hidden, width))
        nn.init.zeros_(self.net[2].weight)

    def forward(self, z):
        kept, moved = z.chunk(2, dim=1)
        scale, shift = self.net(kept).chunk(2, dim=1)
        scale = scale.tanh()
        return torch.cat((kept, moved * scale.exp() + shift), dim=1), scale.sum(1)


class Flow(nn.Module):
    def __init__(self, width=512, hidden=128, depth=6):
        super().__init__()
        self.width = width
        self.steps = nn.ModuleList(m for _ in range(depth) for m in (Mixing(width), Coupling(width, hidden)))

    def forward(self, z):
        volume = torch.zeros(len(z))
        for step in self.steps:
            z, change = step(z)
            volume = volume + change
        likelihood = volume - 0.5 * z.pow(2).sum(1) - 0.5 * self.width * math.log(2 * math.pi)
        return -likelihood.mean() / (self.width * math.log(2))


def patches(volumes, batch, side=8):
    space = volumes.shape[-1] - side
    while True:
        corners = torch.randint(space, (batch, 3)).tolist()
        which = torch.randint(len(volumes), (batch,)).tolist()
        yield torch.stack(
            [
                volumes[w, x : x + side, y : y + side, z : z + side].flatten()
                for w, (x, y, z) in zip(which, corners)
            ]
        )


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Flow()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    volumes = torch.randn(40, 48, 48, 48).cumsum(3).div(5)
    for step, batch in enumerate(patches(volumes, 32)):
        loss = model(batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        if step % 25 == 0:
            print(f"step {step}: {loss.item():.3f} bits per voxel", flush=True)
