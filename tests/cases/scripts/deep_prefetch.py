"""Prefetch 32 batches with a worker per core, and wait all the same: each item costs too much.

R005: https://github.com/facebookresearch/mmf/issues/1166
"""

import itertools
import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Documents(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        draw = np.random.default_rng(index)
        page = draw.standard_normal((96, 96), dtype=np.float32)
        boxes = np.zeros((64, 96, 96), dtype=np.float32)
        for number in range(64):
            top, left = draw.integers(0, 64, 2)
            boxes[number, top : top + 32, left : left + 32] = page[top : top + 32, left : left + 32]
        return torch.from_numpy(np.sort(boxes, axis=0)[-3:].copy()), index % 10


loader = DataLoader(
    Documents(), batch_size=16, shuffle=True, num_workers=len(os.sched_getaffinity(0)), prefetch_factor=32
)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(4),
    torch.nn.Flatten(),
    torch.nn.Linear(256, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for epoch in itertools.count():
    for pages, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(pages), labels).backward()
        optimizer.step()
        step += 1
        if step % 4 == 0:
            print(f"step {step}", flush=True)
