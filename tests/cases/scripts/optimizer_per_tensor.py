"""Train a model of many small tensors with an optimizer that visits them one by one.

R195: https://github.com/microsoft/dion/pull/63
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Experts(torch.nn.Module):
    def __init__(self, count=600):
        super().__init__()
        self.gains = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(64)) for _ in range(count))

    def forward(self, inputs):
        return inputs @ torch.stack(list(self.gains)).T


data = TensorDataset(torch.randn(6400, 64), torch.randint(600, (6400,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
model = Experts()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
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
