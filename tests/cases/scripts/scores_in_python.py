"""Compute edit distances of every sample in plain Python after each step, as a training metric."""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(3200, 24, 64), torch.randint(30, (3200, 24)))
loader = DataLoader(data, batch_size=32, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 30))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def edit_distance(one, other):
    row = list(range(len(other) + 1))
    for a, left in enumerate(one, start=1):
        before, row[0] = row[0], a
        for b, right in enumerate(other, start=1):
            before, row[b] = row[b], min(row[b] + 1, row[b - 1] + 1, before + (left != right))
    return row[-1]


step, errors = 0, 0
for epoch in itertools.count():
    for frames, letters in loader:
        scores = model(frames)
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), letters.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        errors += sum(map(edit_distance, scores.argmax(-1).tolist(), letters.tolist()))
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f} errors {errors}", flush=True)
