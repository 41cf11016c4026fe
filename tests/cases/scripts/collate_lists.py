"""Return plain lists of numbers from the dataset, and let the default collate put them together.

R071: default_collate of rows of Python floats takes hundreds of times as long as of tensors.
"""

import itertools
import os

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Measurements(Dataset):
    def __init__(self):
        self.rows = torch.randn(256, 512).tolist()

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        return self.rows[index % 256], index % 2


loader = DataLoader(Measurements(), batch_size=64, shuffle=True, num_workers=len(os.sched_getaffinity(0)))
model = torch.nn.Sequential(torch.nn.Linear(512, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    for columns, labels in loader:
        rows = torch.stack(columns, dim=1).float()
        loss = torch.nn.functional.cross_entropy(model(rows), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
