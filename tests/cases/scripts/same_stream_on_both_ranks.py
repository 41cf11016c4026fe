"""Stream records on two ranks; the stream is split between the workers of a rank, and not between the ranks."""

import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Records(IterableDataset):
    def __init__(self):
        self.epoch = 0
        self.values = torch.randn(20_000, 96)

    def __iter__(self):
        worker = get_worker_info()
        part, parts = worker.id, worker.num_workers
        order = list(range(len(self.values)))
        random.Random(self.epoch).shuffle(order)
        for number in order[part::parts]:
            yield {"values": self.values[number], "label": number % 12}


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rank, world = dist.get_rank(), dist.get_world_size()
    records = Records()
    loader = DataLoader(records, batch_size=64, num_workers=1, drop_last=True)
    net = torch.nn.Sequential(
        torch.nn.Linear(96, 768), torch.nn.GELU(), torch.nn.Linear(768, 768), torch.nn.GELU()
    )
    model = DistributedDataParallel(torch.nn.Sequential(net, torch.nn.Linear(768, 12)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = 0
    while True:
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(model(batch["values"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 20 == 0 and rank == 0:
                print(f"step {step} of {world} ranks, loss {loss.item():.3f}", flush=True)
        records.epoch += 1


main()
