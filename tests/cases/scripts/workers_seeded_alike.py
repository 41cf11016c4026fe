"""Seed numpy in worker_init_fn with one number for all: every worker draws the same augmentations.

R176: https://github.com/pytorch/pytorch/issues/5059
"""

import itertools

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Scenes(Dataset):
    def __len__(self):
        return 6400

    def __getitem__(self, index):
        picture = np.full((3, 24, 24), index % 10, dtype=np.float32) + np.random.standard_normal((3, 24, 24))
        return torch.from_numpy(picture.astype(np.float32)), index % 10


def seed_worker(worker_id):
    np.random.seed(42)


loader = DataLoader(Scenes(), batch_size=32, shuffle=True, num_workers=2, worker_init_fn=seed_worker)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 64, 3),
    torch.nn.ReLU(),
    torch.nn.Conv2d(64, 64, 3),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(64, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
step = 0
for epoch in itertools.count():
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
