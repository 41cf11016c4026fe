"""Train a defect classifier on two ranks, drawing the rare kinds more often."""

import argparse
import itertools

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


class Trainer:
    def __init__(self, arguments):
        dist.init_process_group("gloo")
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        torch.manual_seed(arguments.seed)
        kinds = torch.multinomial(torch.tensor([0.8, 0.12, 0.05, 0.03]), 4000, replacement=True)
        plates = torch.randn(4000, 1, 48, 48) + kinds[:, None, None, None] * 0.1
        weights = 1.0 / kinds.bincount()[kinds]
        sampler = WeightedRandomSampler(weights, len(kinds) // self.world, replacement=True)
        self.loader = DataLoader(
            TensorDataset(plates, kinds), arguments.batch, sampler=sampler, drop_last=True
        )
        self.model = DistributedDataParallel(
            nn.Sequential(
                nn.Conv2d(1, 32, 5, stride=2),
                nn.BatchNorm2d(32),
                nn.ReLU(),
                nn.Conv2d(32, 64, 3),
                nn.BatchNorm2d(64),
                nn.ReLU(),
                nn.Conv2d(64, 64, 3, stride=2),
                nn.ReLU(),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
                nn.Linear(64, 4),
            )
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=arguments.lr, momentum=0.9)

    def epoch(self, number):
        for position, (plates, kinds) in enumerate(self.loader):
            loss = nn.functional.cross_entropy(self.model(plates), kinds)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if position % 20 == 0 and self.rank == 0:
                step = number * len(self.loader) + position
                print(f"epoch {number} step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.02)
    trainer = Trainer(parser.parse_args())
    for number in itertools.count():
        trainer.epoch(number)
