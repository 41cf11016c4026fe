"""Train a recommender's ranking tower on two ranks, eight parts to a batch."""

import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Accumulator:
    """Run the backward of each part; step with the last."""

    def __init__(self, model, optimizer, parts):
        self.model, self.optimizer, self.parts, self.seen = model, optimizer, parts, 0

    @property
    def complete(self):
        return self.seen % self.parts == 0

    def context(self):
        return contextlib.nullcontext() if self.complete else self.model.no_sync()

    def backward(self, loss):
        self.seen += 1
        with self.context():
            (loss / self.parts).backward()
        if self.complete:
            self.optimizer.step()
            self.optimizer.zero_grad()


class Tower(nn.Module):
    def __init__(self, features=512, width=1536):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
        )

    def forward(self, rows):
        return self.net(rows).squeeze(-1)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rows = TensorDataset(torch.randn(16_000, 512), torch.rand(16_000).round())
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=16, sampler=sampler, drop_last=True)
    model = DistributedDataParallel(Tower())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    accumulator = Accumulator(model, optimizer, parts=8)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        for batch, (features, clicked) in enumerate(loader):
            loss = nn.functional.binary_cross_entropy_with_logits(model(features), clicked)
            accumulator.backward(loss)
            if dist.get_rank() == 0 and batch % 80 == 0:
                print(f"step {epoch * len(loader) + batch} epoch {epoch} loss {loss.item():.3f}", flush=True)
        epoch += 1


if __name__ == "__main__":
    main()
