"""Accumulate over sixteen micro-batches on two GPUs without no_sync: fifteen all-reduces for nothing.

R126: https://github.com/pytorch/pytorch/issues/43201
"""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

ACCUMULATE = 16
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
torch.manual_seed(0)
device = torch.device("cuda", rank)
net = torch.nn.Sequential(*(torch.nn.Linear(8192, 8192) for _ in range(6))).to(device)
model = DistributedDataParallel(net, device_ids=[rank])
inputs = torch.randn(64, 8192, device=device, generator=torch.Generator(device).manual_seed(rank))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
step = 0
while True:
    for micro in range(ACCUMULATE):
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(inputs).float().pow(2).mean() / ACCUMULATE
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    if step % 5 == 0 and rank == 0:
        print(f"step {step} loss {loss.item():.5f}", flush=True)
