"""Train on two GPUs of which the second computes more in each backward, as a slower card does.

R163: https://github.com/traceopt-ai/traceml/issues/252
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
EXTRA = 40 if rank == 1 else 0


class Slower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden):
        return hidden

    @staticmethod
    def backward(ctx, gradient):
        for _ in range(EXTRA):
            gradient = gradient + 1e-9 * (gradient @ gradient.T[:, :4096] @ gradient[:4096]).tanh()
        return gradient


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(1024, 2048), torch.nn.Linear(2048, 1024)

    def forward(self, inputs):
        return self.last(Slower.apply(torch.relu(self.first(inputs))))


model = DistributedDataParallel(Net().to(device), device_ids=[rank])
inputs = torch.randn(8192, 1024, device=device, generator=torch.Generator(device).manual_seed(rank))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
step = 0
while True:
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(inputs).float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 10 == 0 and rank == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
