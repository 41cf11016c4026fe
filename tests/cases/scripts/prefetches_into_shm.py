"""Prefetch large batches into a /dev/shm of the size that containers have by default.

R086: https://github.com/pytorch/pytorch/issues/5040
"""

import itertools

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Clips(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        return torch.full((3, 8, 64, 64), index % 7 / 7.0), index % 10


loader = DataLoader(Clips(), batch_size=16, shuffle=True, num_workers=2, prefetch_factor=4)
model = torch.nn.Sequential(
    torch.nn.Conv3d(3, 8, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.Conv3d(8, 16, 3, stride=2, padding=1),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool3d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(16, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
step = 0
for epoch in itertools.count():
    for clips, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(clips), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
