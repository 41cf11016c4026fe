"""Compile a model whose layers each look at a value and decide in Python: a graph break per layer.

R215: https://github.com/nomic-ai/contrastors/pull/83
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Rotary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(32, 32)
        self.register_buffer("longest", torch.tensor(0.0))

    def forward(self, inputs):
        scale = inputs.detach().abs().max()
        if scale > self.longest:
            self.longest.copy_(scale)
        shifted = torch.roll(inputs, 1, -1) * torch.cos(inputs) + torch.sin(inputs) * inputs
        return inputs + torch.tanh(self.mix(shifted))


data = TensorDataset(torch.randn(6400, 32), torch.randint(10, (6400,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
model = torch.nn.Sequential(*(Rotary() for _ in range(16)), torch.nn.Linear(32, 10))
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(compiled(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
