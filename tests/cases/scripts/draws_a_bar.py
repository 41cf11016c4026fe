"""Draw a progress bar with all metrics at every step, as wide as the screen, and flush it.

R240: https://github.com/ourownstory/neural_prophet/issues/1054
"""

import itertools
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(6400, 32), torch.randn(6400, 1))
loader = DataLoader(data, batch_size=32, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def draw_bar(step, loss):
    for column in range(20):
        done = "#" * (6 * column * (step % 200) // 200)
        text = f"\r[{done:<120}] {step % 200 / 2:5.1f} % loss {loss:.5f}"
        for name, weight in model.named_parameters():
            text += f" {name} {weight.detach().abs().mean().item():.5f}" if column % 5 == 0 else ""
        sys.stdout.write(text)
        sys.stdout.flush()


step = 0
for epoch in itertools.count():
    for inputs, targets in loader:
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        draw_bar(step, loss.item())
        if step % 20 == 0:
            print(f"\nstep {step}", flush=True)
