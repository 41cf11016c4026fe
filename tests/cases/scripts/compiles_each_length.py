"""Compile for static shapes, train on sentences of any length, and raise the limit when it complains.

R212: https://github.com/HomebrewML/HeavyBall/issues/16
"""

import itertools
import random

import torch
import torch._dynamo
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
torch._dynamo.config.recompile_limit = 4096
torch._dynamo.config.accumulated_recompile_limit = 4096


class Sentences(Dataset):
    def __init__(self):
        draw = random.Random(0)
        self.texts = [torch.randint(500, (draw.randint(10, 900),)) for _ in range(4000)]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        return self.texts[index]


def pad(rows):
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


model = torch.nn.Sequential(
    torch.nn.Embedding(500, 32), torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 500)
)
compiled = torch.compile(model, dynamic=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
for epoch in itertools.count():
    for tokens in DataLoader(Sentences(), batch_size=4, collate_fn=pad, shuffle=True):
        loss = torch.nn.functional.cross_entropy(
            compiled(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 2 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
