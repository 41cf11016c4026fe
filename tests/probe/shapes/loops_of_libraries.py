"""Loops as libraries and their users write them: odd to look at, and common."""

import contextlib
import operator
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from tests.probe.shapes.loops_of_loaders import BATCHES, EPOCHS, train
from tests.probe.shapes.materials import BATCH, ITEM_S, WIDTH, Batch, Pause, Rows, loader_of, trainee
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
            with contextlib.suppress(ValueError):
                try:
                    batch = watch.wait(next, batches)
                except StopIteration:
                    return
                yield batch

    one = trainee()
    loader = DataLoader(_Corrupt(), batch_size=BATCH)
    for epoch in range(EPOCHS):
        for batch in readable(loader):
            train(watch, one, batch, epoch)


class _Pictures(Dataset[Any]):
    """As detectron2 maps them: each a dictionary of its own; every third one is tall."""

    def __len__(self) -> int:
        return 60

    def __getitem__(self, index: int) -> dict[str, Any]:
        shape = (3, 8, 6) if index % 3 == 2 else (3, 6, 8)
        time.sleep(ITEM_S)
        return {"file_name": f"{index}.jpg", "image": torch.full(shape, index / 60), "label": index % 2}


class _ByAspect:
    """Asks a loader for one picture at a time until two of one aspect are there."""

    def __init__(self) -> None:
        self.loader = DataLoader(_Pictures(), batch_size=1, collate_fn=operator.itemgetter(0))
        self.fetched = 0

    def pairs(self, watch: Stopwatch) -> Iterator[list[dict[str, Any]]]:
        waiting: dict[torch.Size, list[dict[str, Any]]] = {}
        for picture in watch.batches(self.loader):
            self.fetched += 1
            alike = waiting.setdefault(picture["image"].shape, [])
            alike.append(picture)
            if len(alike) == 2:
                yield alike
                alike.clear()


@shape()
def pictures_grouped_by_aspect(watch: Stopwatch) -> None:
    """A step has what was fetched in it: what waits in a group counts as it comes.

    But for the first: nothing tells yet that the loader is not read ahead.
    """
    one = trainee()
    source = _ByAspect()
    for number, pair in enumerate(source.pairs(watch)):
        x = torch.stack([picture["image"].mean().expand(WIDTH) for picture in pair])
        y = torch.tensor([picture["label"] for picture in pair])
        loss = one.loss((x, y))
        one.optimizer.zero_grad()
        watch.backward(loss)
        with watch.optimizer():
            one.optimizer.step()
        watch.done(source.fetched if number else 1, epoch=0)
        source.fetched = 0


LAYERS = 5
"""So that there are more parameter groups than steps that are held without a loader."""


class _Zero:
    """As DeepSpeed's ZeRO steps: an optimizer once for each of its parameter groups, and so at first."""

    def __init__(self, watch: Stopwatch) -> None:
        layers = [nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
        self.model = nn.Sequential(*layers, Pause(), nn.Linear(WIDTH, 2))
        self._watch = watch
        self._optimizer = torch.optim.SGD([{"params": [weight]} for weight in self.model.parameters()], 0.1)
        self._made = False
        self._step_groups()
        self._made = True
        self._optimizer.register_step_pre_hook(lambda *_: time.sleep(ITEM_S))

    def _step_groups(self) -> None:
        groups = self._optimizer.param_groups
        for group in groups:
            self._optimizer.param_groups = [group]
            if self._made:
                with self._watch.optimizer():
                    self._optimizer.step()
            else:
                self._optimizer.step()
        self._optimizer.param_groups = groups

    def train(self, batch: Batch) -> None:
        loss = nn.functional.cross_entropy(self.model(batch[0]), batch[1])
        self._optimizer.zero_grad()
        self._watch.begin()
        self._watch.backward(loss)
        self._step_groups()


@shape()
def parameter_groups_one_by_one(watch: Stopwatch) -> None:
    zero = _Zero(watch)
    for epoch in range(EPOCHS):
        for batch in watch.batches(loader_of(BATCHES)):
            zero.train(batch)
            watch.done(BATCH, epoch=epoch)


@shape()
def parameter_groups_one_by_one_without_a_loader(watch: Stopwatch) -> None:
    zero = _Zero(watch)
    for _ in range(EPOCHS * BATCHES):
        zero.train((torch.ones(BATCH, WIDTH), torch.zeros(BATCH, dtype=torch.long)))
        watch.done_at_mark()


@shape(validations=(BATCHES,))
def a_pass_over_the_data_at_first(watch: Stopwatch) -> None:
    loader = loader_of(BATCHES)
    mean = torch.zeros(WIDTH)
    with watch.validation():
        for x, _ in loader:
            mean += x.mean(0)
    one = trainee()
    for epoch in range(EPOCHS):
        for batch in watch.batches(loader):
            train(watch, one, batch, epoch)
