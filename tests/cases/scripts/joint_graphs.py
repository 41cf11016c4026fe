"""Classify the movement of a skeleton whose links are learnt, with spectral coordinates of its joints."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    joints: int = 64
    channels: int = 6
    width: int = 64
    kinds: int = 20
    batch: int = 32
    coordinates: int = 8
    lr: float = 5e-4


class SpectralCoordinates(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.keep = cfg.coordinates
        self.project = nn.Linear(cfg.coordinates, cfg.width)

    def forward(self, links):
        degree = links.sum(-1)
        scale = degree.clamp(min=1e-6).rsqrt()
        laplacian = torch.eye(links.shape[-1]) - scale[:, :, None] * links * scale[:, None, :]
        _, vectors = torch.linalg.eigh(laplacian.detach())
        return self.project(vectors[:, :, 1 : self.keep + 1].abs())


class Skeleton(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.inp = nn.Linear(cfg.channels, cfg.width)
        self.coordinates = SpectralCoordinates(cfg)
        self.mix = nn.ModuleList(nn.Linear(cfg.width, cfg.width) for _ in range(2))
        self.head = nn.Linear(cfg.width, cfg.kinds)

    def forward(self, joints):
        links = torch.softmax(-torch.cdist(joints, joints), -1)
        links = 0.5 * (links + links.transpose(1, 2))
        hidden = self.inp(joints) + self.coordinates(links)
        for layer in self.mix:
            hidden = hidden + torch.relu(layer(links @ hidden))
        return self.head(hidden.mean(1))


def clips(cfg, count=6400):
    generator = torch.Generator().manual_seed(5)
    joints = torch.randn(count, cfg.joints, cfg.channels, generator=generator)
    kinds = torch.randint(cfg.kinds, (count,), generator=generator)
    while True:
        for chosen in torch.randperm(count).split(cfg.batch):
            yield joints[chosen], kinds[chosen]


def run(cfg):
    model = Skeleton(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    correct = seen = 0
    for step, (joints, kinds) in enumerate(clips(cfg), 1):
        scores = model(joints)
        loss = nn.functional.cross_entropy(scores, kinds, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            correct += (scores.argmax(1) == kinds).sum().item()
            seen += len(kinds)
            print(f"step {step} loss {loss.item():.3f} accuracy {correct / seen:.3f}", flush=True)


run(Config())
