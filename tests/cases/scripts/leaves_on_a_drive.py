"""Classify leaves whose records lie on a spinning drive.

R076: https://github.com/mlfoundations/open_clip/issues/899
"""

import argparse
import atexit
import itertools
import multiprocessing
import os
import shutil
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIZE = 3 * 32 * 32


class Drive:
    """A disk with one arm."""

    def __init__(self, path):
        self.path, self.arm = path, multiprocessing.Lock()

    def read(self, offset, size):
        with self.arm, open(self.path, "rb", buffering=0) as file:
            time.sleep(0.008)
            file.seek(offset)
            return file.read(size)


class Leaves(Dataset):
    def __init__(self, drive, count):
        self.drive, self.count = drive, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        raw = np.frombuffer(self.drive.read(index * SIZE, SIZE), np.uint8)
        return torch.from_numpy(raw.reshape(3, 32, 32).copy()), index % 12


def network(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, 12),
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--count", type=int, default=6400)
    args = parser.parse_args()
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "leaves.bin")
    np.random.default_rng(0).integers(256, size=args.count * SIZE, dtype=np.uint8).tofile(path)
    leaves = Leaves(Drive(path), args.count)
    loader = DataLoader(leaves, args.batch, shuffle=True, num_workers=args.workers, persistent_workers=True)
    model = network(32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for epoch in itertools.count():
        for step, (leaf, kind) in enumerate(loader):
            loss = F.cross_entropy(model(leaf.float().div(255)), kind)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 25 == 0:
                print(f"epoch {epoch} step {epoch * len(loader) + step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
