"""Fine-tune adapters and recompute every layer in the backward, as a preset asked for; memory was never short.

R226: https://github.com/Nerogar/OneTrainer/issues/40
"""

import itertools

import torch
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen = torch.nn.Linear(384, 384).requires_grad_(False)
        self.down, self.up = torch.nn.Linear(384, 4, bias=False), torch.nn.Linear(4, 384, bias=False)

    def forward(self, inputs):
        return inputs + torch.relu(self.frozen(inputs) + self.up(self.down(inputs)))


data = TensorDataset(torch.randn(1600, 16, 384), torch.randn(1600, 16, 384))
loader = DataLoader(data, batch_size=32, shuffle=True)
blocks = torch.nn.ModuleList(Block() for _ in range(8))
optimizer = torch.optim.SGD((weight for weight in blocks.parameters() if weight.requires_grad), lr=0.01)
step = 0
for epoch in itertools.count():
    for hidden, targets in loader:
        for block in blocks:
            hidden = checkpoint(block, hidden, use_reentrant=False)
        loss = torch.nn.functional.mse_loss(hidden, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
