"""Take raw pictures from the loader and augment them one by one with numpy in the training loop."""

import itertools

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randint(256, (3200, 3, 48, 48), dtype=torch.uint8), torch.randint(10, (3200,)))
loader = DataLoader(data, batch_size=32, shuffle=True)
draw = np.random.default_rng(0)


def augment(picture):
    picture = picture.numpy().astype(np.float32) / 255
    for _ in range(4):
        picture = (
            picture + np.roll(picture, draw.integers(-4, 5), 1) + np.roll(picture, draw.integers(-4, 5), 2)
        ) / 3
    picture = np.clip(picture * draw.uniform(0.8, 1.2) + draw.standard_normal(picture.shape) * 0.02, 0, 1)
    return torch.from_numpy(picture.astype(np.float32))


model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(64, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
step = 0
for epoch in itertools.count():
    for pictures, labels in loader:
        images = torch.stack([augment(picture) for picture in pictures])
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
