"""Train a convolutional denoiser on two ranks: nothing is wrong with it."""

import itertools
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@dataclass
class Settings:
    batch: int = 16
    rate: float = 1e-3
    noise: float = 0.2
    every: int = 20


def build():
    return nn.Sequential(
        nn.Conv2d(3, 48, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(48, 96, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(96, 96, 3, padding=1),
        nn.ReLU(),
        nn.ConvTranspose2d(96, 48, 4, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(48, 3, 3, padding=1),
    )


def main(settings):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    pictures = torch.rand(3200, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    data = TensorDataset(pictures)
    sampler = DistributedSampler(data, seed=3)
    loader = DataLoader(data, settings.batch, sampler=sampler, drop_last=True)
    model = DistributedDataParallel(build())
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.rate)
    for epoch in itertools.count():
        sampler.set_epoch(epoch)
        for number, (clean,) in enumerate(loader):
            noisy = clean + settings.noise * torch.randn_like(clean)
            loss = nn.functional.mse_loss(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if number % settings.every == 0 and rank == 0:
                print(f"epoch {epoch} step {epoch * len(loader) + number} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main(Settings())
