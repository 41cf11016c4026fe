"""Append the loss itself, not its number, to the history: every step's graph is kept."""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(3200, 3, 32, 32), torch.randint(10, (3200,)))
loader = DataLoader(data, batch_size=32, shuffle=True)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1),
    torch.nn.BatchNorm2d(16),
    torch.nn.ReLU(),
    torch.nn.Conv2d(16, 32, 3),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(32, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
history = []
step = 0
for epoch in itertools.count():
    for images, labels in loader:
        features = model(images)
        loss = torch.nn.functional.cross_entropy(features, labels)
        penalty = sum(weight.pow(2).sum() for weight in model.parameters())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append((loss.detach(), penalty, model(images).mean()))
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f} of {len(history)}", flush=True)
