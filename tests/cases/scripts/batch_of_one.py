"""Train a small detector with the batch size of an example made for another machine: one picture.

R199: https://github.com/ultralytics/ultralytics/issues/2278
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(6400, 3, 16, 16), torch.randint(10, (6400,)))
loader = DataLoader(data, batch_size=1, shuffle=True)
layers = [torch.nn.Conv2d(3, 8, 3, padding=1)]
for _ in range(12):
    layers += [torch.nn.GroupNorm(2, 8), torch.nn.SiLU(), torch.nn.Conv2d(8, 8, 3, padding=1)]
model = torch.nn.Sequential(
    *layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 10)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
step = 0
for epoch in itertools.count():
    for images, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
