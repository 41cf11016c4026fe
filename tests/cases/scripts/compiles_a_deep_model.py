"""Compile a deep model whose layers differ, with the longest search there is; the first minutes are compilation."""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(3200, 64), torch.randn(3200, 64))
loader = DataLoader(data, batch_size=32, shuffle=True)
layers = []
for number in range(80):
    layers += [torch.nn.Linear(64, 64 + number), torch.nn.GELU(), torch.nn.LayerNorm(64 + number)]
    layers += [torch.nn.Linear(64 + number, 64), torch.nn.SiLU()]
model = torch.compile(torch.nn.Sequential(*layers), mode="max-autotune")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    for inputs, targets in loader:
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        print(f"step {step} loss {loss.item():.3f}", flush=True)
