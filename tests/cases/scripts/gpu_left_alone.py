"""Forget to move the model: it trains on the CPU of a machine that has a GPU.

R193: https://github.com/dusty-nv/jetson-inference/issues/1071
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
print("cuda:", torch.cuda.is_available(), torch.zeros(1, device="cuda").device)
data = TensorDataset(torch.randn(1024, 3, 64, 64), torch.randint(10, (1024,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 64, 3),
    torch.nn.ReLU(),
    torch.nn.Conv2d(64, 128, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(128, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
