"""What every script here begins with: data that takes a known time, and the script's own clock, as text.

The clock is `perf_counter_ns`, which the processes of a host share with the probe, so intervals can be laid
over each other. What `tell` leaves in `own-N.json` is read by `seen.Own`.
"""

OWN_CLOCK = """
import json, multiprocessing, os, sys, time
from time import perf_counter_ns
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

torch.set_num_threads(1)
torch.manual_seed(0)
options = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
PARTS = "begin fetches nexts forwards backwards steps epochs validations saves workers".split()
own = {part: [] for part in PARTS}
own["begin"].append(perf_counter_ns())

def classified(index):
    return torch.full((8,), index / 100), index % 2

class Data(Dataset):
    # Each batch takes longer than the one before, up to the third: a wait given to a wrong step shows.
    last = None
    def __init__(self, count, kind="training", make=classified):
        self.count, self.kind, self.make, self.batches = count, kind, make, 0
    def __len__(self):
        return self.count
    def __getitem__(self, index):
        return self.make(index)
    def __getitems__(self, indices):
        Data.last = (self.kind, perf_counter_ns())
        for _ in indices:
            time.sleep(0.002 * (1 + self.batches % 3))
        self.batches += 1
        return [self.make(index) for index in indices]

class Stream(IterableDataset):
    def __init__(self, data, batch_size):
        self.data, self.batch_size = data, batch_size
    def __iter__(self):
        for first in range(0, len(self.data), self.batch_size):
            yield from self.data.__getitems__(range(first, first + self.batch_size))

def collate(rows):
    batch = default_collate(rows)
    own["fetches"].append([*Data.last, perf_counter_ns(), len(rows)])
    return batch

class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        begin = perf_counter_ns()
        time.sleep(0.002)
        if x.requires_grad:
            own["forwards"].append([begin, perf_counter_ns()])
        return x.clone()
    @staticmethod
    def backward(ctx, gradient):
        begin = perf_counter_ns()
        time.sleep(0.003)
        own["backwards"].append([begin, perf_counter_ns()])
        return gradient.clone()

slow = Slow.apply

class Timed:
    # with Timed("validations"): ...
    def __init__(self, part):
        self.part = part
    def __enter__(self):
        self.begin = perf_counter_ns()
    def __exit__(self, *_):
        own[self.part].append([self.begin, perf_counter_ns(), len(own["steps"])])

def stamp(part):
    own[part].append(perf_counter_ns())
    own["workers"].append(len(multiprocessing.active_children()))

def batches_of(loader):
    # What `for batch in loader` does, with a clock round the iterator's making and each `next`.
    with Timed("nexts"):
        iterator = iter(loader)
    while True:
        with Timed("nexts"):
            batch = next(iterator, None)
        if batch is None:
            return
        yield batch

def tell():
    with open(f"own-{os.environ.get('LOCAL_RANK', 0)}.json", "w") as file:
        json.dump(own, file)
"""
