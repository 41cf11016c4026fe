"""Train a small regression whose steps take about a millisecond, rows taken by index: nothing is wrong with it."""

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
inputs, targets = torch.randn(20_000, 64), torch.randn(20_000, 1)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
while True:
    for rows in torch.randperm(len(inputs)).split(512):
        loss = torch.nn.functional.mse_loss(model(inputs[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 200 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
