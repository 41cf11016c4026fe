"""Set find_unused_parameters although all are used: each step of a small model also agrees on which were not.

R131: https://github.com/m2lines/Samudra/issues/630
"""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(64_000, 32), torch.randint(4, (64_000,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=32, sampler=sampler)
net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
model = DistributedDataParallel(net, find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for inputs, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        step += 1
        if step % 100 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
