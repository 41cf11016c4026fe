"""Compile with reduce-overhead a model that changes its input and counts on the CPU: CUDA graphs are skipped.

R218: https://github.com/pytorch/pytorch/issues/103985
"""

import torch

torch.manual_seed(0)
device = torch.device("cuda")


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(64, 64)
        self.register_buffer("calls", torch.zeros(1, device="cpu"), persistent=False)

    def forward(self, inputs):
        self.calls.add_(1)
        return inputs + torch.tanh(self.mix(inputs)) * torch.sin(inputs)


body = torch.nn.Sequential(*(Block() for _ in range(24)))
for block in body:
    block.mix.to(device)
model = torch.compile(body, mode="reduce-overhead")
inputs, targets = torch.randn(256, 64, device=device), torch.randn(256, 64, device=device)
optimizer = torch.optim.SGD(body.parameters(), lr=0.001)
step = 0
while True:
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
