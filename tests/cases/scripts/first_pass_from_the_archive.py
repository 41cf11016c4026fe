"""Fetch every scan from an archive when it is first wanted and keep it: after one pass all are at hand.

R072: https://github.com/NVIDIA/DALI/issues/1415
"""

import itertools
import time

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
ANSWER_S = 0.02


class Scans(Dataset):
    def __init__(self):
        self.at_hand = {}

    def __len__(self):
        return 1536

    def __getitem__(self, number):
        if number not in self.at_hand:
            time.sleep(ANSWER_S)
            self.at_hand[number] = torch.randn(1, 32, 32, generator=torch.Generator().manual_seed(number))
        return self.at_hand[number], number % 4


loader = DataLoader(Scans(), batch_size=8, shuffle=True)
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 32, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.Conv2d(32, 32, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(32, 4),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
step = 0
for epoch in itertools.count():
    for scans, kinds in loader:
        loss = torch.nn.functional.cross_entropy(model(scans), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 8 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)
