"""Train on two ranks of which rank 1 takes longer in its backward: its layer recomputes what the other has stored.

R163: https://github.com/traceopt-ai/traceml/issues/252
"""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
SWEEPS = 60 if dist.get_rank() == 1 else 1


class Smooth(torch.autograd.Function):
    @staticmethod
    def forward(ctx, signal):
        return signal

    @staticmethod
    def backward(ctx, gradient):
        for _ in range(SWEEPS):
            gradient = gradient + torch.fft.irfft(torch.fft.rfft(gradient), n=gradient.shape[-1]) * 1e-9
        return gradient


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(256, 1024), torch.nn.Linear(1024, 10)

    def forward(self, inputs):
        return self.last(Smooth.apply(torch.relu(self.first(inputs))))


data = TensorDataset(torch.randn(12800, 256), torch.randint(10, (12800,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=128, sampler=sampler)
model = DistributedDataParallel(Net())
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
