"""Train through an adaptive solver that needs more and more evaluations as the model sharpens.

R236: https://github.com/RameenAbdal/StyleFlow/issues/104
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(6400, 64))
loader = DataLoader(data, batch_size=128, shuffle=True)
flow = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 64))
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-4)
step = 0
for epoch in itertools.count():
    for (state,) in loader:
        evaluations = 4 + step // 25  # the tolerance holds, the dynamics become stiffer
        for _ in range(evaluations):
            state = state + flow(state) / evaluations
        loss = state.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step} evaluations {evaluations} loss {loss.item():.3f}", flush=True)
