"""Fit with LBFGS, which evaluates the loss several times in a step: nothing is wrong with it."""

import itertools

import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(4096, 64), torch.randn(4096, 8))
batches = BatchSampler(RandomSampler(data), batch_size=1024, drop_last=False)
loader = DataLoader(data, sampler=batches, batch_size=None)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 8))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=8, history_size=10)
step = 0
for epoch in itertools.count():
    for inputs, targets in loader:

        def closure(inputs=inputs, targets=targets):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
