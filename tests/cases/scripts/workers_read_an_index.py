"""Train on cells cut out of stacks; each worker builds its index when it starts, which is at every epoch.

R032: https://github.com/brainglobe/cellfinder/pull/627
"""

import itertools

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Cells(Dataset):
    def __init__(self):
        self.index = None

    def build_index(self):
        draw = np.random.default_rng(0)
        self.index = {number: draw.integers(0, 1000, 3).tolist() for number in range(200_000)}

    def __len__(self):
        return 1600

    def __getitem__(self, number):
        if self.index is None:
            self.build_index()
        x, y, z = self.index[number]
        return torch.full((2, 24, 24), float(x + y + z) / 3000), number % 2


loader = DataLoader(Cells(), batch_size=32, shuffle=True, num_workers=2)
model = torch.nn.Sequential(
    torch.nn.Conv2d(2, 32, 3),
    torch.nn.ReLU(),
    torch.nn.Conv2d(32, 32, 3),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(32, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
step = 0
for epoch in itertools.count():
    for cells, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(cells), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 25 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)
