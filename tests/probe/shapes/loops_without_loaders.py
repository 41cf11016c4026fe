"""Loops of which the probe sees no fetch, or only fetches, and those that say themselves where steps end."""

import queue
import threading
import time
from collections.abc import Iterator

import torch
from torch import nn

from perftui.trainer import watch as watch_training
from perftui.trainer.probe.step_clock import HELD_MICRO_BATCHES
from tests.probe.shapes.loops_of_loaders import BATCHES, EPOCHS
from tests.probe.shapes.materials import BATCH, PHASE_S, WIDTH, Batch, Trainee, loader_of, trainee
from tests.probe.shapes.registry import shape
from tests.probe.shapes.stopwatch import Stopwatch

STEPS = 24


def a_batch() -> Batch:
    return torch.ones(BATCH, WIDTH), torch.zeros(BATCH, dtype=torch.long)


def _train_unfed(watch: Stopwatch, one: Trainee, batch: Batch) -> None:
    """A step of a loop without fetches: the first begins with its backward, the others where one ended."""
    loss = one.loss(batch)
    one.optimizer.zero_grad()
    watch.begin()
    watch.backward(loss)
    with watch.optimizer():
        one.optimizer.step()
    watch.done_at_mark()


@shape()
def no_loader_at_all(watch: Stopwatch) -> None:
    one = trainee()
    for _ in range(STEPS):
        _train_unfed(watch, one, a_batch())


class _OwnLoader:
    """No DataLoader: nobody can see it being waited for."""

    def __iter__(self) -> Iterator[Batch]:
        for _ in range(BATCHES):
            time.sleep(2 * PHASE_S)
            yield a_batch()


@shape()
def a_loader_of_the_scripts_own(watch: Stopwatch) -> None:
    one = trainee()
    for _ in range(EPOCHS):
        for batch in _OwnLoader():
            _train_unfed(watch, one, batch)


@shape()
def a_thread_that_prefetches(watch: Stopwatch) -> None:
    """The thread reads the DataLoader: what the training thread waits for is a queue."""
    one = trainee()
    ready: queue.Queue[Batch | None] = queue.Queue(2)

    def fill() -> None:
        for batch in loader_of(STEPS):
            ready.put(batch)
        ready.put(None)

    thread = threading.Thread(target=fill)
    thread.start()
    while (batch := ready.get()) is not None:
        _train_unfed(watch, one, batch)
    thread.join()


@shape(boundary="explicit")
def steps_that_the_script_tells(watch: Stopwatch) -> None:
    """Two batches, each with an optimizer's step, are one step if the script says so."""
    one = trainee()
    told = watch_training()
    watch.begin()
    for epoch in range(EPOCHS):
        for number, batch in enumerate(watch.batches(loader_of(8))):
            loss = one.loss(batch)
            watch.backward(loss)
            with watch.optimizer():
                one.optimizer.step()
            if number % 2:
                told.step(samples=2 * BATCH)
                watch.done(2 * BATCH, micro_batches=2, epoch=epoch, at_once=True)


@shape(boundary="explicit")
def told_steps_without_a_loader(watch: Stopwatch) -> None:
    one = trainee()
    told = watch_training()
    watch.begin()
    for _ in range(STEPS):
        loss = one.loss(a_batch())
        watch.backward(loss)
        with watch.optimizer():
            one.optimizer.step()
        told.step()
        watch.done(at_once=True)


@shape(boundary="explicit")
def told_steps_of_something_else_altogether(watch: Stopwatch) -> None:
    told = watch_training()
    watch.begin()
    for _ in range(STEPS):
        time.sleep(PHASE_S)
        told.step(samples=3)
        watch.done(3, at_once=True)


@shape(boundary="loader", compiles=True)
def a_whole_step_in_one_graph(watch: Stopwatch) -> None:
    """Forward, gradients and update are one compiled function: no backward, no optimizer to be seen."""
    weights = torch.zeros(2, WIDTH), torch.zeros(2)

    def loss_of(weight: torch.Tensor, bias: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(nn.functional.linear(x, weight, bias), y)

    def step(
        weights: tuple[torch.Tensor, torch.Tensor], x: torch.Tensor, y: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        slopes = torch.func.grad(loss_of, argnums=(0, 1))(*weights, x, y)
        return weights[0] - 0.1 * slopes[0], weights[1] - 0.1 * slopes[1]

    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    loader = loader_of(30)
    for epoch in range(3):
        for x, y in watch.batches(loader):
            weights = compiled(weights, x, y)
            watch.done(BATCH, epoch=epoch)


def _descend_by_hand(watch: Stopwatch, batches: int, epochs: int) -> None:
    one = trainee()
    loader = loader_of(batches)
    for epoch in range(epochs):
        for batch in watch.batches(loader):
            one.model.zero_grad()
            loss = one.loss(batch)
            watch.backward(loss)
            with torch.no_grad():
                for weight in one.model.parameters():
                    if weight.grad is not None:
                        weight.sub_(weight.grad, alpha=0.1)
            watch.done(BATCH, epoch=epoch)


@shape(boundary="loader")
def gradient_descent_by_hand(watch: Stopwatch) -> None:
    """More steps than are held back until it is clear that no optimizer will follow."""
    _descend_by_hand(watch, HELD_MICRO_BATCHES // 2 + 4, 2)


@shape(boundary="loader")
def gradient_descent_by_hand_for_a_few_steps(watch: Stopwatch) -> None:
    _descend_by_hand(watch, STEPS, 1)


@shape()
def one_batch_again_and_again(watch: Stopwatch) -> None:
    """Only the first step fetches."""
    one = trainee()
    loader = loader_of(1)
    batch = watch.wait(lambda feed: next(iter(feed)), loader)  # making the iterator is wait as well
    for number in range(STEPS):
        loss = one.loss(batch)
        one.optimizer.zero_grad()
        watch.backward(loss)
        with watch.optimizer():
            one.optimizer.step()
        fetched = number == 0
        watch.done_at_mark(BATCH if fetched else -1, epoch=0 if fetched else None)
