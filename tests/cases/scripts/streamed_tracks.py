"""Train on tracks of a moving sensor that a chain of small pipes mixes and batches.

R065: https://github.com/huggingface/datasets/issues/7102
"""

import random

import numpy as np
import torch
from torch import nn


class Pipe:
    def __init__(self, source):
        self.source = source

    def mix(self, size):
        return Mixed(self, size)

    def batch(self, size):
        return Batched(self, size)


class Rows(Pipe):
    def __iter__(self):
        for row in self.source:
            yield {"track": row.tolist(), "kind": int(row[0, 0] > 0)}


class Mixed(Pipe):
    def __init__(self, source, size):
        super().__init__(source)
        self.size, self.draw = size, random.Random(0)

    def __iter__(self):
        held = []
        for row in self.source:
            if len(held) < self.size:
                held.append(row)
                continue
            place = self.draw.randrange(self.size)
            yield held[place]
            held[place] = row
        self.draw.shuffle(held)
        yield from held


class Batched(Pipe):
    def __init__(self, source, size):
        super().__init__(source)
        self.size = size

    def __iter__(self):
        rows = []
        for row in self.source:
            rows.append(row)
            if len(rows) == self.size:
                yield (
                    torch.tensor([row["track"] for row in rows]),
                    torch.tensor([row["kind"] for row in rows]),
                )
                rows = []


class Network(nn.Module):
    def __init__(self, channels=32, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(channels, width, 5, stride=4),
            nn.ReLU(),
            nn.Conv1d(width, width, 5, stride=4),
            nn.ReLU(),
        )
        self.head = nn.Linear(width, 2)

    def forward(self, tracks):
        return self.head(self.net(tracks.transpose(1, 2)).mean(-1))


def epochs(tracks):
    while True:
        yield Rows(tracks).mix(200).batch(32)


torch.manual_seed(0)
tracks = np.random.default_rng(0).standard_normal((2000, 128, 32), np.float32)
network = Network()
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
done = 0
for number, epoch in enumerate(epochs(tracks)):
    for track, kind in epoch:
        loss = nn.functional.cross_entropy(network(track), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done += 1
        if done % 20 == 0:
            print(f"epoch {number} step {done} loss {loss.item():.3f}", flush=True)
