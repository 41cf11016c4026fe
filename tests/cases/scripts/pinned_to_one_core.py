"""Augment with two workers; something at the start left the whole process tree on one core.

R049: https://github.com/pytorch/pytorch/issues/8126
"""

import itertools
import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


class Patches(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        draw = np.random.default_rng(index)
        patch = draw.standard_normal((3, 64, 64), dtype=np.float32)
        for _ in range(6):
            patch = (patch + np.roll(patch, 1, 1) + np.roll(patch, 1, 2)) / 3
        return torch.from_numpy(patch), index % 10


loader = DataLoader(Patches(), batch_size=32, shuffle=True, num_workers=2)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 24, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.Conv2d(24, 48, 3),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(48, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    for patches, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(patches), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
