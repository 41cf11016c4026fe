"""Train a cell-type classifier on gene counts, on two ranks with accumulated gradients."""

import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

GENES, KINDS, MICRO, ACCUMULATE = 2000, 30, 16, 8


def micro_batches(seed):
    """Yield micro-batches of log counts for ever."""
    random = torch.Generator().manual_seed(seed)
    counts = torch.rand(4096, GENES, generator=random).mul_(50).log1p_()
    kinds = torch.randint(KINDS, (4096,), generator=random)
    while True:
        for rows in torch.randperm(4096, generator=random).split(MICRO):
            yield counts[rows], kinds[rows]


def build():
    return nn.Sequential(
        nn.Linear(GENES, 1536),
        nn.LayerNorm(1536),
        nn.ReLU(),
        nn.Linear(1536, 1536),
        nn.LayerNorm(1536),
        nn.ReLU(),
        nn.Linear(1536, 512),
        nn.ReLU(),
        nn.Linear(512, KINDS),
    )


def train_step(model, optimizer, batches):
    total = 0.0
    for micro in range(ACCUMULATE):
        cells, kinds = next(batches)
        loss = nn.functional.cross_entropy(model(cells), kinds) / ACCUMULATE
        last = micro == ACCUMULATE - 1
        with contextlib.nullcontext() if last else model.no_sync():
            loss.backward()
        total += loss.item()
    optimizer.step()
    optimizer.zero_grad()
    return total


def main():
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    torch.manual_seed(0)
    model = DistributedDataParallel(build(), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    batches = micro_batches(rank)
    step = 0
    while True:
        total = train_step(model, optimizer, batches)
        step += 1
        if step % 10 == 0 and rank == 0:
            print(f"step {step} loss {total:.3f}", flush=True)


if __name__ == "__main__":
    main()
