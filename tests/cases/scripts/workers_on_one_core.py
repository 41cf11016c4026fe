"""Place the loader's workers by hand, away from the training thread; all of them land on the same core.

R056: https://github.com/ultralytics/ultralytics/issues/9843
"""

import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Mosaics(Dataset):
    def __init__(self):
        self.tiles = np.random.default_rng(0).integers(0, 256, (64, 96, 96, 3), dtype=np.uint8)

    def __len__(self):
        return 10_000

    def __getitem__(self, number):
        draw = np.random.default_rng(number)
        chosen = self.tiles[draw.integers(0, 64, 4)].astype(np.float32)
        rows = [np.concatenate(chosen[:2], 1), np.concatenate(chosen[2:], 1)]
        mosaic = np.concatenate(rows, 0) * draw.uniform(0.7, 1.3)
        mosaic = np.clip(mosaic + draw.standard_normal(mosaic.shape, dtype=np.float32) * 4, 0, 255)
        mosaic = (mosaic[::2, ::2] + mosaic[1::2, ::2] + mosaic[::2, 1::2] + mosaic[1::2, 1::2]) / 4
        return torch.from_numpy(mosaic.transpose(2, 0, 1).astype(np.float32) / 255), number % 4


def place(worker_id):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1]})


def run():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(
        Mosaics(), batch_size=32, shuffle=True, num_workers=2, persistent_workers=True, worker_init_fn=place
    )
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 5, stride=4),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(128, 4),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    step = 0
    while True:
        for mosaics, kinds in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(mosaics), kinds)
            loss.backward()
            optimizer.step()
            step += 1
            if step % 5 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


run()
