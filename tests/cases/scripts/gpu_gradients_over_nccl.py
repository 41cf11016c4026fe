"""Train a wide model on two GPUs with little to compute in a step: the gradients are what takes the time.

R142: https://github.com/NVIDIA/nccl/issues/491
"""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
torch.manual_seed(0)
device = torch.device("cuda", rank)
net = torch.nn.Sequential(
    torch.nn.EmbeddingBag(500_000, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)
).to(device)
model = DistributedDataParallel(net, device_ids=[rank], gradient_as_bucket_view=True)
generator = torch.Generator(device).manual_seed(rank)
words = torch.randint(500_000, (64, 32), device=device, generator=generator)
labels = torch.randint(10, (64,), device=device, generator=generator)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
while True:
    loss = torch.nn.functional.cross_entropy(model(words), labels)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    step += 1
    if step % 20 == 0 and rank == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
