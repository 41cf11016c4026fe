"""Keep the data as nested Python lists and make a tensor of them at each fetch; a worker per core.

R061: https://github.com/huggingface/datasets/issues/5841
"""

import itertools
import os

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Rows(Dataset):
    def __init__(self):
        self.rows = torch.rand(64, 3, 48, 48).tolist()

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        picture = torch.tensor(self.rows[index % len(self.rows)])
        return (picture - 0.5) / 0.25, index % 10


loader = DataLoader(Rows(), batch_size=64, shuffle=True, num_workers=len(os.sched_getaffinity(0)))
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
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
