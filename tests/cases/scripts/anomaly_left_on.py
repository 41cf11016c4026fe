"""Look for a NaN with anomaly detection, find it, and leave the switch on.

R116: https://github.com/Lightning-AI/pytorch-lightning/issues/12344
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
torch.autograd.set_detect_anomaly(True)
data = TensorDataset(torch.randn(3200, 32), torch.randn(3200, 1))
loader = DataLoader(data, batch_size=32, shuffle=True)
layers = [torch.nn.Linear(32, 32)]
for _ in range(10):
    layers += [torch.nn.LayerNorm(32), torch.nn.GELU(), torch.nn.Linear(32, 32)]
model = torch.nn.Sequential(*layers, torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
step = 0
for epoch in itertools.count():
    for inputs, targets in loader:
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
