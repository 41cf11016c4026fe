"""Compile a small model piece by piece: guards and wrappers cost more than the few operators they fuse.

R219: https://github.com/ScalingIntelligence/KernelBench/issues/68
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)


@torch.compile
def shift(inputs, weight, bias):
    return inputs * weight + bias


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = torch.nn.Parameter(torch.ones(8)), torch.nn.Parameter(torch.zeros(8))

    def forward(self, inputs):
        return shift(inputs, self.weight, self.bias)


data = TensorDataset(torch.randn(6400, 8), torch.randn(6400, 8))
loader = DataLoader(data, batch_size=16, shuffle=True)
model = torch.nn.Sequential(*(Scale() for _ in range(40)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
step = 0
for epoch in itertools.count():
    for inputs, targets in loader:
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
