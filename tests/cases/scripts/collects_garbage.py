"""Keep a large index of Python objects in memory, and call gc.collect() every few steps to be safe.

R168: https://github.com/marin-community/marin/pull/9224
"""

import gc
import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
documents = {number: [f"doc{number}", {"length": number % 512}] for number in range(600_000)}
data = TensorDataset(torch.randn(6400, 512), torch.randint(10, (6400,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
step = 0
for epoch in itertools.count():
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            gc.collect()
            print(f"step {step} of {len(documents)} documents, loss {loss.item():.3f}", flush=True)
