"""What the trainings of the tests here begin with, and what must hold of their steps."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.probe.conftest import Outcome

PREAMBLE = """
import sys, time, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset
torch.manual_seed(0)
torch.set_num_threads(1)

class Data(Dataset):
    def __init__(self, count=48, sleep=0.0):
        self.count, self.sleep = count, sleep
    def __len__(self):
        return self.count
    def __getitem__(self, index):
        time.sleep(self.sleep)
        return torch.full((8,), index / self.count), index % 2

model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)

def step(batch):
    x, y = batch
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()
"""

PHASES = ("wait_ns", "forward_ns", "backward_ns", "optimizer_ns")


def partitions(outcome: "Outcome", rank: int = 0) -> bool:
    phases = zip(*(outcome.column(name, rank) for name in PHASES), strict=True)
    walls = outcome.column("wall_ns", rank)
    return all(sum(parts) <= wall for parts, wall in zip(phases, walls, strict=True))
