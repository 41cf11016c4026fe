"""Stream shards with one worker each; the shard of the last worker holds pictures of another camera.

The lab of the reports: the wait comes back at every fourth batch.
"""

import itertools

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

torch.manual_seed(0)
torch.set_num_threads(1)
SIDE = {0: 64, 1: 64, 2: 64, 3: 1536}


class Shards(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        side = SIDE[worker.id]
        generator = torch.Generator().manual_seed(worker.id)
        for number in itertools.count():
            picture = torch.rand(3, side, side, generator=generator)
            yield torch.nn.functional.adaptive_avg_pool2d(picture, 32), number % 10


model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(128, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for step, (images, labels) in enumerate(DataLoader(Shards(), batch_size=8, num_workers=4), start=1):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
    if step % 8 == 0:
        print(f"step {step}", flush=True)
