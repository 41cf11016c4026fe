"""What the loops are made of: data, models and optimizers whose every phase takes a while.

Sleeping, mostly: so the phases stand out from what it costs to read a clock, whatever the machine.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

Batch: TypeAlias = tuple[torch.Tensor, torch.Tensor]

Foreign: TypeAlias = Any
"""What torch passes, and nobody looks at."""

BATCH = 4
ITEM_S = 0.0008
PHASE_S = 0.004
WIDTH = 8


class Rows(Dataset[tuple[torch.Tensor, int]]):
    """`count` rows that take a moment each."""

    def __init__(self, count: int, item_s: float = ITEM_S) -> None:
        self.count = count
        self.item_s = item_s

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(self.item_s)
        return torch.full((WIDTH,), index / self.count), index % 2


class Stream(IterableDataset[tuple[torch.Tensor, int]]):
    """The same rows, one after the other."""

    def __init__(self, count: int) -> None:
        self.rows = Rows(count)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, int]]:
        for index in range(len(self.rows)):
            yield self.rows[index]


class StreamOfKnownLength(Stream):
    """A stream that says how long it is."""

    def __len__(self) -> int:
        return len(self.rows)


def loader_of(batches: int, **more: Foreign) -> "DataLoader[Any]":
    return DataLoader(Rows(batches * BATCH), batch_size=BATCH, **more)


class _Pause(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Foreign, value: torch.Tensor) -> torch.Tensor:  # noqa: ARG004
        time.sleep(PHASE_S)
        return value.clone()

    @staticmethod
    def backward(ctx: Foreign, *grads: torch.Tensor) -> torch.Tensor:  # noqa: ARG004
        time.sleep(PHASE_S)
        return grads[0].clone()


class Pause(nn.Module):
    """Takes a while, forward and backward."""

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        paused: torch.Tensor = _Pause.apply(value)
        return paused


def slow_model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), Pause(), nn.Linear(WIDTH, 2))


def _pause_before(*_: Foreign) -> None:
    time.sleep(PHASE_S)


def slow_optimizer(model: nn.Module, rate: float = 0.1) -> torch.optim.Optimizer:
    return slowed(torch.optim.SGD(model.parameters(), rate))


def slowed(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Let each step of an optimizer take a while."""
    optimizer.register_step_pre_hook(_pause_before)
    return optimizer


@dataclass
class Trainee:
    """A model and its optimizer."""

    model: nn.Module
    optimizer: torch.optim.Optimizer

    def loss(self, batch: Batch) -> torch.Tensor:
        x, y = batch
        return nn.functional.cross_entropy(self.model(x), y)


def trainee() -> Trainee:
    model = slow_model()
    return Trainee(model, slow_optimizer(model))
