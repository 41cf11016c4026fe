"""Accumulate four micro-batches on two ranks, exchanging gradients only with the last: nothing is wrong with it."""

import contextlib
import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

ACCUMULATE = 4
dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(6400, 3, 32, 32), torch.randint(10, (6400,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=32, sampler=sampler, drop_last=True)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3),
    torch.nn.ReLU(),
    torch.nn.Conv2d(32, 64, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(64, 10),
)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
micro = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for images, labels in loader:
        micro += 1
        last = micro % ACCUMULATE == 0
        with contextlib.nullcontext() if last else model.no_sync():
            loss = torch.nn.functional.cross_entropy(model(images), labels) / ACCUMULATE
            loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
            if micro % (5 * ACCUMULATE) == 0 and dist.get_rank() == 0:
                print(f"step {micro // ACCUMULATE}", flush=True)
