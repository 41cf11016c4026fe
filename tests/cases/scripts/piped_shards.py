"""Train an autoencoder on shards that come through a pipe from an object store.

R033: https://github.com/webdataset/webdataset/issues/365
"""

import atexit
import io
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

ROWS, WIDTH = 4096, 1024


class Pipe:
    """A command whose output is read as a file, with seeking back."""

    opened = []

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.buffer = io.BytesIO()
        Pipe.opened.append(self)

    def read(self, size):
        start = self.buffer.tell()
        self.buffer.write(self.process.stdout.read(size))
        self.buffer.seek(start)
        return self.buffer.read()


class Shards(IterableDataset):
    def __init__(self, paths):
        self.paths = list(paths)

    def __iter__(self):
        for place in torch.randperm(len(self.paths)).tolist():
            pipe = Pipe(["cat", str(self.paths[place])])
            while block := pipe.read(64 * WIDTH * 4):
                yield torch.from_numpy(np.frombuffer(block, np.float32).reshape(-1, WIDTH).copy())
            pipe.process.wait()


def autoencoder():
    return nn.Sequential(
        nn.Linear(WIDTH, 512), nn.SiLU(), nn.Linear(512, 512), nn.SiLU(), nn.Linear(512, 64),
        nn.Linear(64, 512), nn.SiLU(), nn.Linear(512, 512), nn.SiLU(), nn.Linear(512, WIDTH),
    )  # fmt: skip


def main():
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    rng = np.random.default_rng(0)
    for shard in range(6):
        rng.standard_normal((ROWS, WIDTH), np.float32).tofile(folder / f"{shard:03d}.rec")
    loader = DataLoader(Shards(sorted(folder.glob("*.rec"))), batch_size=None)
    model = autoencoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    step = 0
    while True:
        for rows in loader:
            loss = nn.functional.mse_loss(model(rows), rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 100 == 0:
                print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
