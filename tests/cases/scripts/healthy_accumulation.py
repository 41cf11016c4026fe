"""Accumulate four micro-batches of 32 for a batch that would not fit: nothing is wrong with it."""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
ACCUMULATE = 4
data = TensorDataset(torch.randn(3200, 3, 32, 32), torch.randint(10, (3200,)))
loader = DataLoader(data, batch_size=32, shuffle=True)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3),
    torch.nn.ReLU(),
    torch.nn.Conv2d(32, 64, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(64, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
micro = 0
for epoch in itertools.count():
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels) / ACCUMULATE
        loss.backward()
        micro += 1
        if micro % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
            if micro % (5 * ACCUMULATE) == 0:
                print(f"step {micro // ACCUMULATE} loss {loss.item() * ACCUMULATE:.3f}", flush=True)
