"""Train a recurrent cell unrolled by hand: hundreds of tiny kernels a step, which the CPU cannot issue fast enough.

R205: https://github.com/ahrefs/ocannl/issues/488
"""

import torch

torch.manual_seed(0)
device = torch.device("cuda")
inputs, targets = torch.randn(256, 100, 32, device=device), torch.randn(256, 32, device=device)
gates = torch.nn.Linear(64, 128).to(device)
optimizer = torch.optim.SGD(gates.parameters(), lr=0.01)
step = 0
while True:
    hidden = cell = torch.zeros(256, 32, device=device)
    for moment in range(100):
        into, forget, new, out = gates(torch.cat([inputs[:, moment], hidden], 1)).chunk(4, 1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(into) * torch.tanh(new)
        hidden = torch.sigmoid(out) * torch.tanh(cell)
    loss = torch.nn.functional.mse_loss(hidden, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
