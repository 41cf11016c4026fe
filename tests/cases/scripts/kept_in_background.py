"""Learn word vectors, with a manager that keeps snapshots in the background.

R246: https://github.com/apax-hub/apax/issues/22
"""

import atexit
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F
from torch import nn


class SnapshotManager:
    def __init__(self, interval=3):
        self.interval = interval
        self.folder = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.pool, self.pending = ThreadPoolExecutor(1), None

    def write(self, state, step):
        path = os.path.join(self.folder, f"{step % 2}.pt")
        with open(path, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())

    def step(self, step, model):
        if step % self.interval:
            return
        if self.pending is not None:
            self.pending.result()
        state = {name: value.clone() for name, value in model.state_dict().items()}
        self.pending = self.pool.submit(self.write, {"step": step, "model": state}, step)


class SkipGram(nn.Module):
    def __init__(self, words=120_000, size=128):
        super().__init__()
        self.centre = nn.Embedding(words, size, sparse=True)
        self.context = nn.Embedding(words, size, sparse=True)
        self.mix = nn.Sequential(nn.Linear(size, 512), nn.ReLU(), nn.Linear(512, size))

    def forward(self, centre, context, negatives):
        vector = self.mix(self.centre(centre))
        good = (vector * self.context(context)).sum(-1)
        bad = torch.einsum("bd,bnd->bn", vector, self.context(negatives))
        return -(F.logsigmoid(good) + F.logsigmoid(-bad).sum(-1)).mean()


def pairs(words, size=1024):
    while True:
        centre = torch.randint(words, (size,))
        yield centre, (centre + torch.randint(1, 5, (size,))) % words, torch.randint(words, (size, 5))


def main():
    torch.manual_seed(0)
    model, manager = SkipGram(), SnapshotManager()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, batch in enumerate(pairs(120_000), 1):
        optimizer.zero_grad()
        loss = model(*batch)
        loss.backward()
        optimizer.step()
        manager.step(step, model)
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
