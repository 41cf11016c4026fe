"""Validate on the whole held-out set every 25 steps.

R243: https://github.com/XuJiacong/PIDNet/issues/57
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
pictures, labels_of = torch.randn(3200, 3, 32, 32), torch.randint(10, (3200,))
train = DataLoader(TensorDataset(pictures, labels_of), batch_size=32, shuffle=True)
held_out = DataLoader(TensorDataset(pictures[:1600], labels_of[:1600]), batch_size=32)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3),
    torch.nn.ReLU(),
    torch.nn.Conv2d(32, 32, 3),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(32, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)


@torch.no_grad()
def validate():
    model.eval()
    right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in held_out)
    model.train()
    return right / len(held_out.dataset)


step = 0
for epoch in itertools.count():
    for images, labels in train:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 25 == 0:
            print(f"step {step} loss {loss.item():.3f} accuracy {validate():.3f}", flush=True)
