"""Compile a model whose blocks each read a number out of a tensor, to warn of odd ones: a graph break a block."""

import itertools
import logging

import torch
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.WARNING)
log = logging.getLogger("model")
torch.manual_seed(0)
torch.set_num_threads(1)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(48, 48)
        self.seen = []

    def forward(self, inputs):
        hidden = torch.tanh(self.mix(inputs))
        self.seen = [float(hidden.detach().mean())]
        if self.seen[0] > 2:
            log.warning("mean %f", self.seen[0])
        return inputs + torch.sin(hidden) * torch.cos(hidden)


data = TensorDataset(torch.randn(6400, 48), torch.randint(10, (6400,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
model = torch.compile(torch.nn.Sequential(*(Block() for _ in range(20)), torch.nn.Linear(48, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
