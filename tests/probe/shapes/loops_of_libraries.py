"""Loops as libraries and their users write them: odd to look at, and common."""

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from tests.probe.shapes.loops_of_loaders import BATCHES, EPOCHS, train
from tests.probe.shapes.materials import BATCH, Batch, Rows, trainee
from tests.probe.shapes.registry import shape
from tests.probe.shapes.stopwatch import Stopwatch


class _Corrupt(Dataset[Any]):
    """Some rows cannot be read."""

    def __init__(self) -> None:
        self.rows = Rows((BATCHES + 2) * BATCH)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if index in (0, 3 * BATCH + 1):
            raise ValueError("cannot be read")
        return self.rows[index]


@shape()
def corrupt_samples_that_are_passed_over(watch: Stopwatch) -> None:
    def readable(loader: "DataLoader[Any]") -> Iterator[Batch]:
        batches = watch.wait(iter, loader)
        while True:
            try:
                yield watch.wait(next, batches)
            except StopIteration:
                return
            except ValueError:
                continue

    one = trainee()
    loader = DataLoader(_Corrupt(), batch_size=BATCH)
    for epoch in range(EPOCHS):
        for batch in readable(loader):
            train(watch, one, batch, epoch)
