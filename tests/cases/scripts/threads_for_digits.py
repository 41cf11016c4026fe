"""Train a small network on digits with the 16 threads of the machine the script was written on.

R045: https://github.com/pytorch/pytorch/issues/19825
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(16)
digits = TensorDataset(torch.randn(6400, 1, 28, 28), torch.randint(10, (6400,)))
loader = DataLoader(digits, batch_size=32, shuffle=True)
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 16, 5),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(16, 32, 5),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(512, 128),
    torch.nn.ReLU(),
    torch.nn.Linear(128, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
step = 0
for epoch in itertools.count():
    for images, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
