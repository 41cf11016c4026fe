"""Start two ranks with six workers each on whatever cores there are, and let each worker use all of them.

R003: https://github.com/facebookresearch/deit/issues/81
"""

import itertools
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)


class Crops(Dataset):
    def __len__(self):
        return 20000

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        picture = torch.randn(3, 160, 160, generator=generator)
        for _ in range(2):
            picture = torch.sigmoid(picture + picture.roll(1, 1) + picture.roll(1, 2))
        return picture[:, 48:112, 48:112].clone(), index % 10


def use_all_cores(worker_id):
    torch.set_num_threads(len(os.sched_getaffinity(0)))


data = Crops()
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=4, sampler=sampler, num_workers=6, worker_init_fn=use_all_cores)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(4),
    torch.nn.Flatten(),
    torch.nn.Linear(256, 10),
)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for images, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        step += 1
        if step % 5 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
