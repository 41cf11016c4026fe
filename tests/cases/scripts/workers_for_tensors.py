"""Train on tensors that are in memory already, with eight workers because more must be faster.

R012: https://github.com/Lightning-AI/pytorch-lightning/issues/17410
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(20000, 32), torch.randint(4, (20000,)))
loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=8, persistent_workers=True)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
for epoch in itertools.count():
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 200 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
