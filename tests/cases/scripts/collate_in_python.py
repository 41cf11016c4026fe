"""Pad and mask a batch of token lists with Python loops in collate_fn; the items themselves are ready."""

import itertools
import os
import random

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Tokens(Dataset):
    def __init__(self):
        draw = random.Random(0)
        self.rows = [[draw.randrange(1, 500) for _ in range(draw.randint(100, 400))] for _ in range(512)]

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        return self.rows[index % len(self.rows)]


def collate(rows):
    longest = max(len(row) for row in rows)
    padded, mask = [], []
    for row in rows:
        padded.append([row[place] if place < len(row) else 0 for place in range(longest)])
        mask.append([[float(a < len(row) and b <= a) for b in range(16)] for a in range(longest)])
    return torch.tensor(padded), torch.tensor(mask)


loader = DataLoader(
    Tokens(), batch_size=16, collate_fn=collate, shuffle=True, num_workers=len(os.sched_getaffinity(0))
)
model = torch.nn.Sequential(torch.nn.Embedding(500, 32), torch.nn.Linear(32, 16))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for epoch in itertools.count():
    for tokens, mask in loader:
        optimizer.zero_grad()
        loss = (model(tokens) * mask).pow(2).mean()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
