"""Whiten the features with a full singular value decomposition in every forward: one operator takes the step."""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Whiten(torch.nn.Module):
    def forward(self, features):
        with torch.no_grad():
            _, scale, basis = torch.linalg.svd(features, full_matrices=False)
        return features @ basis.T / (scale + 1e-3)


data = TensorDataset(torch.randn(12800, 64), torch.randint(10, (12800,)))
loader = DataLoader(data, batch_size=256, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), Whiten(), torch.nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for epoch in itertools.count():
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
