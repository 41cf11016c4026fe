"""Collect garbage on each of two ranks when it has counted its own steps; they never do so together.

R167: https://github.com/pytorch/torchtitan/pull/148
"""

import gc
import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EVERY = 24


class Tidy:
    """Collects every so many calls instead of whenever the interpreter likes."""

    def __init__(self, first):
        gc.disable()
        self.calls = first

    def __call__(self):
        self.calls += 1
        if self.calls % EVERY == 0:
            gc.collect()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    catalogue = [{"id": number, "path": ["part", number % 97]} for number in range(700_000)]
    data = TensorDataset(torch.randn(12_800, 128), torch.randint(10, (12_800,)))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=64, sampler=sampler)
    net = torch.nn.Sequential(
        torch.nn.Linear(128, 512), torch.nn.GELU(), torch.nn.Linear(512, 256), torch.nn.GELU()
    )
    model = DistributedDataParallel(torch.nn.Sequential(net, torch.nn.Linear(256, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    tidy = Tidy(first=dist.get_rank() * EVERY // 2)
    step = 0
    for epoch in itertools.count():
        sampler.set_epoch(epoch)
        for inputs, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tidy()
            step += 1
            if step % 24 == 0 and dist.get_rank() == 0:
                print(f"step {step} loss {loss.item():.3f} of {len(catalogue)}", flush=True)


main()
