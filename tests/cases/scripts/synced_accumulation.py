"""Accumulate gradients over eight micro-batches under DDP without no_sync: seven all-reduces for nothing.

R126: https://github.com/pytorch/pytorch/issues/43201
"""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

ACCUMULATE = 8
dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(12800, 1024), torch.randint(10, (12800,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=16, sampler=sampler, drop_last=True)
net = torch.nn.Sequential(
    torch.nn.Linear(1024, 2048),
    torch.nn.ReLU(),
    torch.nn.Linear(2048, 1024),
    torch.nn.ReLU(),
    torch.nn.Linear(1024, 10),
)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
micro = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs), labels) / ACCUMULATE
        loss.backward()
        micro += 1
        if micro % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
            if micro % (5 * ACCUMULATE) == 0 and dist.get_rank() == 0:
                print(f"step {micro // ACCUMULATE}", flush=True)
