"""Wrap the whole training in torch.profiler, with shapes and stacks, as a tutorial shows for ten steps.

R251: https://github.com/facebookresearch/dlrm/issues/197
"""

import itertools

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randint(1000, (6400, 26)), torch.rand(6400, 13), torch.rand(6400))
loader = DataLoader(data, batch_size=64, shuffle=True)
tables = torch.nn.ModuleList(torch.nn.Embedding(1000, 16) for _ in range(26))
top = torch.nn.Sequential(torch.nn.Linear(26 * 16 + 13, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD([*tables.parameters(), *top.parameters()], lr=0.01)
step = 0
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True) as profiler:
    for epoch in itertools.count():
        for sparse, dense, clicks in loader:
            vectors = [table(sparse[:, column]) for column, table in enumerate(tables)]
            scores = top(torch.cat([*vectors, dense], 1)).squeeze(1)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, clicks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            profiler.step()
            step += 1
            if step % 20 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)
