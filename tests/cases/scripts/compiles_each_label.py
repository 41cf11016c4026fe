"""Hand the compiled model a label that changes at every step: it becomes a guard, and each value a compilation.

R209: https://github.com/pytorch/pytorch/issues/114293
"""

import itertools

import torch
import torch._dynamo
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
torch._dynamo.config.recompile_limit = 4096
torch._dynamo.config.accumulated_recompile_limit = 4096


class Annealed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 10))

    def forward(self, inputs, stage):
        scale = {"stage": stage}  # as read from a configuration: a string, compared by value
        return self.body(inputs) * (1.0 + 0.001 * len(scale["stage"]))


data = TensorDataset(torch.randn(6400, 64), torch.randint(10, (6400,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
model = Annealed()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
for epoch in itertools.count():
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(compiled(inputs, f"step-{step}"), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
