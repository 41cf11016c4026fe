"""Compile with reduce-overhead a model that changes a tensor it is given in place: CUDA graphs are skipped.

R218: https://github.com/pytorch/pytorch/issues/103985
"""

import torch

torch.manual_seed(0)
device = torch.device("cuda")


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(64, 64)

    def forward(self, inputs):
        return inputs + torch.tanh(self.mix(inputs)) * torch.sin(inputs)


class Body(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(24))

    def forward(self, inputs, history):
        with torch.no_grad():
            history.mul_(0.9).add_(inputs.mean(0), alpha=0.1)
        for block in self.blocks:
            inputs = block(inputs)
        return inputs


body = Body().to(device)
model = torch.compile(body, mode="reduce-overhead")
history = torch.zeros(64, device=device)
inputs, targets = torch.randn(256, 64, device=device), torch.randn(256, 64, device=device)
optimizer = torch.optim.SGD(body.parameters(), lr=0.001)
step = 0
while True:
    loss = torch.nn.functional.mse_loss(model(inputs, history), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
