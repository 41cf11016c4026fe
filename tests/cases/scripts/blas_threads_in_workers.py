"""Sample molecules with matrix products in two workers, each with a BLAS pool of sixteen threads.

R042: https://github.com/transferable-samplers/transferable-samplers/pull/12
"""

import itertools
import os

os.environ["OPENBLAS_NUM_THREADS"] = "16"

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Molecules(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        draw = np.random.default_rng(index)
        positions = draw.standard_normal((128, 128), dtype=np.float32)
        for _ in range(2):
            positions = positions @ positions.T
            positions /= np.abs(positions).max()
        return torch.from_numpy(positions[:16].flatten())


loader = DataLoader(Molecules(), batch_size=4, shuffle=True, num_workers=2)
model = torch.nn.Sequential(torch.nn.Linear(2048, 256), torch.nn.ReLU(), torch.nn.Linear(256, 2048))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
step = 0
for epoch in itertools.count():
    for molecules in loader:
        optimizer.zero_grad()
        loss = (model(molecules) - molecules).pow(2).mean()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.5f}", flush=True)
