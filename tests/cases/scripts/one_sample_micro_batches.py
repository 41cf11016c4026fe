"""Accumulate 64 micro-batches of one short text each where one batch of 64 would fit.

R201: https://github.com/karpathy/nanoGPT/issues/466
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATE = 64
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randint(200, (12800, 17)))
loader = DataLoader(data, batch_size=64 // ACCUMULATE, shuffle=True)
model = torch.nn.Sequential(
    torch.nn.Embedding(200, 64),
    *(torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True) for _ in range(3)),
    torch.nn.Linear(64, 200),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
micro = 0
for epoch in itertools.count():
    for (tokens,) in loader:
        scores = model(tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten()) / ACCUMULATE
        loss.backward()
        micro += 1
        if micro % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
            if micro % (5 * ACCUMULATE) == 0:
                print(f"step {micro // ACCUMULATE} loss {loss.item() * ACCUMULATE:.3f}", flush=True)
