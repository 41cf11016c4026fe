"""Switch Python's collector off for smoother steps; what refers to itself is never freed.

R094: https://github.com/facebookresearch/dinov3/issues/150
"""

import gc
import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
gc.disable()


class Views:
    def __init__(self, images):
        self.crops = [images + 0.1 * torch.randn_like(images) for _ in range(2)]
        self.owner = self  # each sample knows its batch, and the batch its samples


data = TensorDataset(torch.randn(3200, 3, 32, 32), torch.randint(10, (3200,)))
loader = DataLoader(data, batch_size=32, shuffle=True)
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
step = 0
for epoch in itertools.count():
    for images, labels in loader:
        views = Views(images)
        loss = sum(torch.nn.functional.cross_entropy(model(crop), labels) for crop in views.crops)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
