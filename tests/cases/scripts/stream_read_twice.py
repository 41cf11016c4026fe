"""Stream a file list with two workers and no sharding: each worker yields everything.

The lab of the reports: four workers turn 32 samples into 128.
"""

import torch
from torch.utils.data import DataLoader, IterableDataset

torch.manual_seed(0)
torch.set_num_threads(1)
PICTURES = torch.randn(1600, 3, 24, 24)


class Stream(IterableDataset):
    def __iter__(self):
        for number, picture in enumerate(PICTURES):
            yield picture, number % 10


loader = DataLoader(Stream(), batch_size=32, num_workers=2)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 64, 3),
    torch.nn.ReLU(),
    torch.nn.Conv2d(64, 64, 3),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(64, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
step = 0
for epoch in range(1_000_000):
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)
