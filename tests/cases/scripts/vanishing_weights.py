"""Train with weights that have decayed below what a float holds in full: every product is a denormal."""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
TINY = 1e-39
data = TensorDataset(torch.rand(6400, 256), torch.randint(10, (6400,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
body = torch.nn.Sequential(torch.nn.Linear(256, 512, bias=False), torch.nn.Linear(512, 512, bias=False))
with torch.no_grad():
    for weight in body.parameters():
        weight.fill_(TINY)
head = torch.nn.Linear(512, 10)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
step = 0
for epoch in itertools.count():
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(head(body(inputs)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
