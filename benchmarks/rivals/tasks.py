"""Builds the loop of a cell: model, optimizer, loss, and the batches in order."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from benchmarks.rivals.cells import Cell
from benchmarks.rivals.models import CONTEXT, VOCABULARY, Gpt, InBf16, small_mlp, wide_mlp
from benchmarks.rivals.pictures import Pictures

_READY_BATCHES = 16

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Task:
    """Everything a loop needs; `batches` is one epoch of warm-up and measured steps."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    loss_of: Callable[[Any, Any], Any]
    batches: Iterable[Batch]
    device: torch.device
    reads_loss: bool


class Ready(Dataset[Batch]):
    """Batches made beforehand, so that handing one out costs nothing worth naming."""

    def __init__(self, make: Callable[[], Batch], length: int) -> None:
        self._batches = [make() for _ in range(min(length, _READY_BATCHES))]
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Batch:
        return self._batches[index % len(self._batches)]


class Tokens(Dataset[Batch]):
    """Random text; the label of a token is the next one."""

    def __init__(self, length: int) -> None:
        self._text = torch.randint(VOCABULARY, (length + CONTEXT + 1,))
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Batch:
        piece = self._text[index : index + CONTEXT + 1]
        return piece[:-1], piece[1:]


def build_task(cell: Cell, pictures: Path | None) -> Task:
    """Return the loop of a cell, the same in every process.

    Raises:
        ValueError: the cell needs a folder of pictures and there is none.
    """
    torch.manual_seed(0)
    device = torch.device(cell.device)
    with device:
        model = _model(cell)
    if cell.kind == "gpt":
        optimizer: torch.optim.Optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return Task(model, optimizer, _loss(cell), _batches(cell, pictures), device, cell.reads_loss)


def _model(cell: Cell) -> nn.Module:
    if cell.kind == "mlp":
        return small_mlp(cell.modules)
    if cell.kind == "wide_mlp":
        return wide_mlp()
    if cell.kind == "gpt":
        return Gpt()
    if cell.kind == "resnet":
        return InBf16(import_module("torchvision.models").resnet50())
    return nn.Linear(1, 1, bias=False)


def _loss(cell: Cell) -> Callable[[Any, Any], Any]:
    if cell.kind == "flood":
        return lambda outputs, _: outputs
    if cell.kind == "gpt":
        return lambda logits, labels: nn.functional.cross_entropy(logits, labels.flatten())
    return nn.CrossEntropyLoss()


def _batches(cell: Cell, pictures: Path | None) -> Iterable[Batch]:
    count, size = cell.warm_up + cell.steps, cell.batch_size
    on_gpu = cell.device == "cuda"
    if cell.kind == "flood":
        return [(torch.ones(1, 1), torch.ones(1))] * count
    if cell.kind == "wide_mlp":
        ready = Ready(lambda: (torch.randn(size, 512), torch.randint(1000, (size,))), count)
        return DataLoader(ready, batch_size=None, num_workers=cell.workers, pin_memory=on_gpu)
    if cell.kind == "mlp":
        rows: Dataset[Any] = TensorDataset(torch.randn(count * size, 32), torch.randint(4, (count * size,)))
    elif cell.kind == "gpt":
        rows = Tokens(count * size)
    elif pictures is None:
        raise ValueError(f"{cell.name} needs --pictures FOLDER")
    else:
        rows = Pictures(pictures, count * size)
    return DataLoader(rows, batch_size=size, num_workers=cell.workers, pin_memory=on_gpu)
