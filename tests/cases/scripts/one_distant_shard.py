"""Stream shards with one worker each; one shard lies on a distant server that takes its time for every record."""

import itertools
import time

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

torch.manual_seed(0)
torch.set_num_threads(1)
LATENCY_S = {0: 0.0, 1: 0.02, 2: 0.0}


class Shards(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        generator = torch.Generator().manual_seed(worker.id)
        for number in itertools.count():
            time.sleep(LATENCY_S[worker.id])
            yield torch.randn(256, generator=generator), number % 10


model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for step, (rows, labels) in enumerate(DataLoader(Shards(), batch_size=16, num_workers=3), start=1):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(rows), labels).backward()
    optimizer.step()
    if step % 9 == 0:
        print(f"step {step}", flush=True)
