"""Tune bucket_cap_mb the wrong way: every gradient travels alone.

R133: https://github.com/huggingface/transformers/pull/14756
"""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(12800, 64), torch.randint(10, (12800,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=64, sampler=sampler)
layers = [torch.nn.Linear(64, 64)]
for _ in range(40):
    layers += [torch.nn.LayerNorm(64), torch.nn.ReLU(), torch.nn.Linear(64, 64)]
model = DistributedDataParallel(torch.nn.Sequential(*layers, torch.nn.Linear(64, 10)), bucket_cap_mb=0.0001)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for inputs, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        step += 1
        if step % 10 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
