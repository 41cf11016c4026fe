"""Train a compiled transformer layer with fixed shapes, compiled once: nothing is wrong with it."""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.grow, self.shrink = (
            torch.nn.LayerNorm(128),
            torch.nn.Linear(128, 512),
            torch.nn.Linear(512, 128),
        )

    def forward(self, inputs):
        hidden = self.grow(self.norm(inputs))
        return inputs + self.shrink(hidden * torch.sigmoid(1.7 * hidden) * torch.exp(-hidden.abs() * 0.01))


data = TensorDataset(torch.randn(3200, 32, 128), torch.randn(3200, 32, 128))
loader = DataLoader(data, batch_size=32, shuffle=True, drop_last=True)
model = torch.compile(torch.nn.Sequential(*(Block() for _ in range(3))))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
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
