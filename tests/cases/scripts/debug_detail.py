"""Train with TORCH_DISTRIBUTED_DEBUG=DETAIL, exported once for a hang and never unset; gradients are averaged by hand.

R119: https://github.com/pytorch/pytorch/issues/129672
"""

import itertools
import os

os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(12800, 64), torch.randint(10, (12800,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=64, sampler=sampler)
layers = [torch.nn.Linear(64, 64)]
for _ in range(12):
    layers += [torch.nn.ReLU(), torch.nn.Linear(64, 64)]
model = torch.nn.Sequential(*layers, torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for inputs, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        for weight in model.parameters():
            dist.all_reduce(weight.grad)
            weight.grad /= dist.get_world_size()
        optimizer.step()
        step += 1
        if step % 20 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
