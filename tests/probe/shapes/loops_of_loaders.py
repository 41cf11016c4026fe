"""Loops that differ in how they are fed by DataLoaders."""

import itertools
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from tests.probe.shapes.materials import (
    BATCH,
    Batch,
    Rows,
    Stream,
    StreamOfKnownLength,
    Trainee,
    loader_of,
    trainee,
)
from tests.probe.shapes.registry import shape
from tests.probe.shapes.stopwatch import Stopwatch

EPOCHS = 3
BATCHES = 7


def train(watch: Stopwatch, one: Trainee, batch: Batch, epoch: int = 0, samples: int = BATCH) -> None:
    """One plain step, fetched already."""
    loss = one.loss(batch)
    one.optimizer.zero_grad()
    watch.backward(loss)
    with watch.optimizer():
        one.optimizer.step()
    watch.done(samples, epoch=epoch)


def train_epochs(watch: Stopwatch, loader: Iterable[Batch], epochs: int = EPOCHS) -> None:
    one = trainee()
    for epoch in range(epochs):
        for batch in watch.batches(loader):
            train(watch, one, batch, epoch)


@shape()
def plain(watch: Stopwatch) -> None:
    train_epochs(watch, loader_of(24), 1)


@shape()
def several_epochs(watch: Stopwatch) -> None:
    train_epochs(watch, loader_of(BATCHES, shuffle=True))


@shape()
def a_short_last_batch(watch: Stopwatch) -> None:
    one = trainee()
    loader = DataLoader(Rows(6 * BATCH + 1), batch_size=BATCH)
    for epoch in range(EPOCHS):
        for number, batch in enumerate(watch.batches(loader)):
            train(watch, one, batch, epoch, BATCH if number < 6 else 1)


@shape()
def two_loaders_zipped(watch: Stopwatch) -> None:
    one = trainee()
    first, second = loader_of(BATCHES), loader_of(BATCHES)
    for epoch in range(EPOCHS):
        for left, _ in zip(watch.batches(first), watch.batches(second), strict=True):
            train(watch, one, left, epoch)


@shape()
def a_long_loader_zipped_with_a_short_one_that_is_cycled(watch: Stopwatch) -> None:
    one = trainee()
    labelled, unlabelled = loader_of(3), loader_of(BATCHES)
    for epoch in range(EPOCHS):
        for plenty, _ in zip(watch.batches(unlabelled), _cycled(watch, labelled), strict=False):
            train(watch, one, plenty, epoch)


def _cycled(watch: Stopwatch, loader: Iterable[Batch]) -> Iterator[Batch]:
    while True:
        yield from watch.batches(loader)


@shape()
def a_loader_built_anew_each_epoch(watch: Stopwatch) -> None:
    one = trainee()
    for epoch in range(EPOCHS):
        for batch in watch.batches(loader_of(BATCHES)):
            train(watch, one, batch, epoch)


@shape()
def one_iterator_kept_over_epochs(watch: Stopwatch) -> None:
    def endless(loader: "DataLoader[Any]") -> Iterator[Batch]:
        while True:
            yield from loader

    one = trainee()
    batches = endless(loader_of(BATCHES))
    for number in range(EPOCHS * BATCHES):
        batch = watch.wait(next, batches)
        train(watch, one, batch, number // BATCHES)


@shape()
def an_iterator_that_is_made_again_when_it_is_empty(watch: Stopwatch) -> None:
    one = trainee()
    loader = loader_of(BATCHES)
    iterator = watch.wait(iter, loader)
    epoch = 0
    for _ in range(EPOCHS * BATCHES):
        try:
            batch = watch.wait(next, iterator)
        except StopIteration:
            iterator = watch.wait(iter, loader)
            batch = watch.wait(next, iterator)
            epoch += 1
        train(watch, one, batch, epoch)


@shape()
def a_stream_without_length(watch: Stopwatch) -> None:
    train_epochs(watch, DataLoader(Stream(BATCHES * BATCH), batch_size=BATCH))


@shape()
def a_stream_of_known_length(watch: Stopwatch) -> None:
    train_epochs(watch, DataLoader(StreamOfKnownLength(BATCHES * BATCH), batch_size=BATCH))


class _FromALoader(IterableDataset[Any]):
    """Reads its rows from another loader."""

    def __init__(self, batches: int) -> None:
        self.inner = loader_of(batches)

    def __iter__(self) -> Iterator[Any]:
        yield from self.inner


@shape()
def a_loader_that_reads_from_a_loader(watch: Stopwatch) -> None:
    train_epochs(watch, DataLoader(_FromALoader(BATCHES), batch_size=None))


@shape()
def workers(watch: Stopwatch) -> None:
    train_epochs(watch, loader_of(BATCHES, num_workers=2))


@shape()
def persistent_workers(watch: Stopwatch) -> None:
    train_epochs(watch, loader_of(BATCHES, num_workers=2, persistent_workers=True))


@shape()
def spawned_workers(watch: Stopwatch) -> None:
    train_epochs(watch, loader_of(14, num_workers=1, multiprocessing_context="spawn"), 1)


@shape()
def an_epoch_left_by_break_after_a_step(watch: Stopwatch) -> None:
    one = trainee()
    loader = loader_of(BATCHES + 3)
    for epoch in range(EPOCHS):
        for number, batch in enumerate(watch.batches(loader)):
            train(watch, one, batch, epoch)
            if number == BATCHES - 1:
                break


@shape()
def an_epoch_left_by_break_before_a_step(watch: Stopwatch) -> None:
    """A step is limited in length by most frameworks in this way: one batch is fetched for nothing."""
    one = trainee()
    loader = loader_of(BATCHES + 3)
    for epoch in range(EPOCHS):
        for number, batch in enumerate(watch.batches(loader)):
            if number == BATCHES:
                break
            train(watch, one, batch, epoch)


@shape()
def a_wrapper_that_shows_progress(watch: Stopwatch) -> None:
    train_epochs(watch, _Progress(loader_of(BATCHES)))


class _Progress:
    """Draws, in memory, how far a loader is: after each batch was used, as progress bars do."""

    def __init__(self, loader: Iterable[Batch]) -> None:
        self.loader = loader
        self.bar = ""

    def __iter__(self) -> Iterator[Batch]:
        for batch in self.loader:
            yield batch
            self.bar += "#"


@shape()
def a_wrapper_that_reads_one_batch_ahead(watch: Stopwatch) -> None:
    def ahead(loader: Iterable[Batch]) -> Iterator[Batch]:
        batches = iter(loader)
        current = next(batches)
        for following in batches:
            yield current
            current = following
        yield current

    loader = loader_of(BATCHES)
    one = trainee()
    for epoch in range(EPOCHS):
        for batch in watch.batches(ahead(loader)):
            train(watch, one, batch, epoch)


VALIDATION = 4


@torch.no_grad()
def _validate(watch: Stopwatch, one: Trainee, loader: Iterable[Batch]) -> None:
    with watch.validation():
        for batch in loader:
            one.loss(batch)


@shape(validations=(VALIDATION,) * 6)
def evaluation_between_steps(watch: Stopwatch) -> None:
    one = trainee()
    loader, held_out = loader_of(BATCHES), loader_of(VALIDATION)
    for epoch in range(EPOCHS):
        for number, batch in enumerate(watch.batches(loader)):
            train(watch, one, batch, epoch)
            if number in (1, 4):
                _validate(watch, one, held_out)


@shape(validations=(VALIDATION,) * 4)
def evaluation_between_epochs_and_before_the_first(watch: Stopwatch) -> None:
    one = trainee()
    loader, held_out = loader_of(BATCHES), loader_of(VALIDATION)
    _validate(watch, one, held_out)
    for epoch in range(EPOCHS):
        for batch in watch.batches(loader):
            train(watch, one, batch, epoch)
        _validate(watch, one, held_out)


@shape(validations=(2,) * EPOCHS)
def evaluation_with_gradients_on_and_left_by_break(watch: Stopwatch) -> None:
    one = trainee()
    loader, held_out = loader_of(BATCHES), loader_of(VALIDATION)
    for epoch in range(EPOCHS):
        for batch in watch.batches(loader):
            train(watch, one, batch, epoch)
        with watch.validation():
            for batch in itertools.islice(held_out, 2):
                one.loss(batch)


class _Unusual(Dataset[Any]):
    """Every ninth batch takes twenty times as long."""

    def __len__(self) -> int:
        return 27

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(0.02 if index % 9 == 8 else 0.001)
        return torch.ones(8), index % 2


@shape()
def a_loader_that_stalls_now_and_then(watch: Stopwatch) -> None:
    one = trainee()
    for batch in watch.batches(DataLoader(_Unusual(), batch_size=1)):
        train(watch, one, batch, samples=1)
