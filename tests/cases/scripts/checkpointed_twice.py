"""Switch activation checkpointing on for blocks, for stages and for the whole, with memory to spare.

R225: https://github.com/QwenLM/Qwen-Image/issues/69
"""

import itertools

import torch
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Recomputed(torch.nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, inputs):
        for layer in self.layers:
            inputs = checkpoint(layer, inputs, use_reentrant=False)
        return inputs


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.grow, self.shrink = torch.nn.Linear(128, 512), torch.nn.Linear(512, 128)

    def forward(self, inputs):
        return inputs + self.shrink(torch.tanh(self.grow(inputs)))


data = TensorDataset(torch.randn(3200, 32, 128), torch.randn(3200, 32, 128))
loader = DataLoader(data, batch_size=16, shuffle=True)
model = Recomputed(Recomputed(*(Recomputed(Block(), Block()) for _ in range(4))))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    for inputs, targets in loader:
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
