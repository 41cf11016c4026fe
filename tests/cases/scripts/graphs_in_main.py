"""Train on graphs whose adjacency powers are computed as each is fetched, in the training process.

R009: https://github.com/harryjo97/GDSS/issues/13
"""

import itertools

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
NODES = 64


class Graphs(Dataset):
    def __len__(self):
        return 2000

    def __getitem__(self, index):
        draw = np.random.default_rng(index)
        edges = np.triu(draw.random((NODES, NODES)) < 0.1, 1)
        adjacency = (edges | edges.T).astype(np.float32)
        values, vectors = torch.linalg.eigh(torch.from_numpy(np.diag(adjacency.sum(1)) - adjacency))
        return vectors, values


class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix, self.out = torch.nn.Linear(NODES, width), torch.nn.Linear(width, NODES)

    def forward(self, nodes):
        return nodes + self.out(torch.relu(self.mix(nodes)))


model = torch.nn.Sequential(*(Layer(128) for _ in range(4)))
head = torch.nn.Linear(NODES, 1)
optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-3)
step = 0
for epoch in itertools.count():
    for vectors, values in DataLoader(Graphs(), batch_size=32, shuffle=True, drop_last=True):
        loss = (head(model(vectors)).squeeze(-1) - values).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
