"""Loops that differ in what they do with gradients and optimizers."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils import checkpoint as checkpoints

from tests.probe.shapes.loops_of_loaders import BATCHES, EPOCHS, train
from tests.probe.shapes.materials import (
    BATCH,
    WIDTH,
    Batch,
    Foreign,
    Pause,
    loader_of,
    slow_model,
    slow_optimizer,
    slowed,
    trainee,
)
from tests.probe.shapes.registry import shape
from tests.probe.shapes.stopwatch import Stopwatch


@shape()
def gan_with_two_optimizers(watch: Stopwatch) -> None:
    one, other = trainee(), trainee()
    loader = loader_of(BATCHES)
    for epoch in range(EPOCHS):
        for batch in watch.batches(loader):
            for half in (one, other):
                half.optimizer.zero_grad()
                loss = half.loss(batch)
                watch.backward(loss)
                with watch.optimizer():
                    half.optimizer.step()
            watch.done(BATCH, epoch=epoch)


def _slopes(of: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(of, at, create_graph=True)[0]


@shape()
def gan_whose_generator_steps_each_third_batch(watch: Stopwatch) -> None:
    """With a gradient penalty: a gradient of a gradient, taken by `torch.autograd.grad` in the forward."""
    critic, generator = trainee(), trainee()
    for number, (x, y) in enumerate(watch.batches(loader_of(24))):
        between = x.clone().requires_grad_()
        loss = critic.loss((x, y)) + (_slopes(critic.model(between).sum(), between) - 1).square().mean()
        watch.backward(loss)
        with watch.optimizer():
            critic.optimizer.step()
        if number % 3 == 2:
            loss = generator.loss((x, y))
            watch.backward(loss)
            with watch.optimizer():
                generator.optimizer.step()
        watch.done(BATCH, epoch=0)


@shape()
def accumulation(watch: Stopwatch) -> None:
    one = trainee()
    for epoch in range(EPOCHS):
        for number, batch in enumerate(watch.batches(loader_of(12))):
            loss = one.loss(batch)
            watch.backward(loss)
            if number % 3 == 2:
                with watch.optimizer():
                    one.optimizer.step()
                one.optimizer.zero_grad()
                watch.done(3 * BATCH, micro_batches=3, epoch=epoch)


@shape()
def accumulation_that_takes_what_is_left_at_the_end_of_an_epoch(watch: Stopwatch) -> None:
    one = trainee()
    for epoch in range(EPOCHS):
        for number, batch in enumerate(watch.batches(loader_of(8)), 1):
            loss = one.loss(batch)
            watch.backward(loss)
            if number % 3 == 0 or number == 8:
                with watch.optimizer():
                    one.optimizer.step()
                count = 3 if number % 3 == 0 else 2
                watch.done(count * BATCH, micro_batches=count, epoch=epoch)


@shape()
def accumulation_over_batches_fetched_before(watch: Stopwatch) -> None:
    one = trainee()
    for epoch in range(EPOCHS):
        batches = watch.batches(loader_of(9))
        while group := list(itertools.islice(batches, 3)):
            for batch in group:
                loss = one.loss(batch)
                watch.backward(loss)
            with watch.optimizer():
                one.optimizer.step()
            watch.done(3 * BATCH, micro_batches=3, epoch=epoch)


@shape()
def lbfgs_with_closures(watch: Stopwatch) -> None:
    one = trainee()
    optimizer = torch.optim.LBFGS(one.model.parameters(), 0.1, max_iter=3)

    def closure_on(batch: Batch) -> Callable[[], float]:
        def closure() -> float:
            optimizer.zero_grad()
            loss = one.loss(batch)
            watch.backward(loss)
            return float(loss.detach())

        return closure

    for epoch in range(EPOCHS):
        for batch in watch.batches(loader_of(BATCHES)):
            with watch.optimizer():
                optimizer.step(closure_on(batch))  # type: ignore[no-untyped-call]
            watch.done(BATCH, epoch=epoch)


@shape()
def scaled_gradients_with_skipped_steps(watch: Stopwatch) -> None:
    one = trainee()
    scaler = torch.amp.GradScaler("cpu")
    for number, batch in enumerate(watch.batches(loader_of(24))):
        one.optimizer.zero_grad()
        loss = one.loss(batch) * (math.inf if number in (5, 6, 17) else 1.0)
        watch.backward(scaler.scale(loss))
        with watch.optimizer():
            scaler.step(one.optimizer)
        scaler.update()
        watch.done(BATCH, epoch=0, failed=number in (5, 6, 17))


@shape()
def scaled_gradients_unscaled_and_clipped(watch: Stopwatch) -> None:
    one = trainee()
    scaler = torch.amp.GradScaler("cpu")
    for batch in watch.batches(loader_of(24)):
        one.optimizer.zero_grad()
        loss = one.loss(batch)
        watch.backward(scaler.scale(loss))
        scaler.unscale_(one.optimizer)
        nn.utils.clip_grad_norm_(one.model.parameters(), 1.0)
        with watch.optimizer():
            scaler.step(one.optimizer)
        scaler.update()
        watch.done(BATCH, epoch=0)


@shape()
def two_models_batch_by_batch(watch: Stopwatch) -> None:
    pair = trainee(), trainee()
    for number, batch in enumerate(watch.batches(loader_of(24))):
        train(watch, pair[number % 2], batch)


@shape()
def two_models_epoch_by_epoch(watch: Stopwatch) -> None:
    """Each has a loader of its own; every pass over one of them is an epoch."""
    pair = ((trainee(), loader_of(BATCHES)), (trainee(), loader_of(BATCHES)))
    for epoch in range(4):
        one, loader = pair[epoch % 2]
        for batch in watch.batches(loader):
            train(watch, one, batch, epoch)


def _checkpointed(watch: Stopwatch, *, reentrant: bool) -> None:
    first, rest = nn.Linear(WIDTH, WIDTH), slow_model()
    optimizer = slow_optimizer(nn.Sequential(first, rest))
    for x, y in watch.batches(loader_of(24)):
        optimizer.zero_grad()
        value: Any = checkpoints.checkpoint(rest, first(x), use_reentrant=reentrant)
        loss = nn.functional.cross_entropy(value, y)
        watch.backward(loss)
        with watch.optimizer():
            optimizer.step()
        watch.done(BATCH, epoch=0)


@shape()
def checkpointed_gradients(watch: Stopwatch) -> None:
    _checkpointed(watch, reentrant=False)


@shape()
def checkpointed_gradients_the_older_way(watch: Stopwatch) -> None:
    """A backward of its own runs inside the outer one."""
    _checkpointed(watch, reentrant=True)


@shape()
def optimizers_that_step_inside_the_backward(watch: Stopwatch) -> None:
    one = trainee()
    weights = list(one.model.parameters())
    optimizers = {id(weight): slowed(torch.optim.SGD([weight], 0.1)) for weight in weights}

    def step_on(weight: torch.Tensor) -> None:
        with watch.optimizer():
            optimizers[id(weight)].step()
        optimizers[id(weight)].zero_grad()

    for weight in weights:
        weight.register_post_accumulate_grad_hook(step_on)  # type: ignore[no-untyped-call]
    for epoch in range(EPOCHS):
        for batch in watch.batches(loader_of(BATCHES)):
            loss = one.loss(batch)
            watch.backward(loss)
            watch.done(BATCH, epoch=epoch)


@shape()
def gradients_taken_without_backward(watch: Stopwatch) -> None:
    one = trainee()
    weights = list(one.model.parameters())
    for epoch in range(EPOCHS):
        for batch in watch.batches(loader_of(BATCHES)):
            for weight, slope in zip(weights, torch.autograd.grad(one.loss(batch), weights), strict=True):
                weight.grad = slope
            with watch.optimizer():
                one.optimizer.step()
            watch.done(BATCH, epoch=epoch)


@shape()
def learning_to_learn(watch: Stopwatch) -> None:
    """An inner step by `torch.autograd.grad`, kept in the graph, and an outer one by backward."""
    one = trainee()
    names = [name for name, _ in one.model.named_parameters()]
    weights = list(one.model.parameters())

    def loss_with(values: list[torch.Tensor], batch: Batch) -> torch.Tensor:
        told = torch.func.functional_call(one.model, dict(zip(names, values, strict=True)), (batch[0],))
        return nn.functional.cross_entropy(told, batch[1])

    for batch in watch.batches(loader_of(24)):
        one.optimizer.zero_grad()
        slopes = torch.autograd.grad(loss_with(list(weights), batch), weights, create_graph=True)
        moved = [weight - 0.1 * slope for weight, slope in zip(weights, slopes, strict=True)]
        loss = loss_with(moved, batch)
        watch.backward(loss)
        with watch.optimizer():
            one.optimizer.step()
        watch.done(BATCH, epoch=0)


class _Bad(RuntimeError):
    """What the script expects to happen."""


def _raise(*_: Foreign) -> None:
    raise _Bad


@shape()
def exceptions_in_backward_and_optimizer(watch: Stopwatch) -> None:
    """The script goes on with the next batch: the step that raised counts, marked."""
    one = trainee()
    for number, batch in enumerate(watch.batches(loader_of(24))):
        broken = None
        loss = one.loss(batch)
        if number % 8 == 3:
            loss.register_hook(_raise)  # type: ignore[no-untyped-call]
        if number % 8 == 6:
            broken = one.optimizer.register_step_pre_hook(_raise)
        try:
            watch.backward(loss)
            with watch.optimizer():
                one.optimizer.step()
        except _Bad:
            pass
        if broken is not None:
            broken.remove()
        one.optimizer.zero_grad()
        watch.done(BATCH, epoch=0, failed=number % 8 in (3, 6))


@shape()
def exceptions_in_forward(watch: Stopwatch) -> None:
    """The batch was fetched and never trained on: it goes to the step that follows, which is marked.

    Once it is known what a step takes: so the first ones are good.
    """
    one = trainee()
    bad = nn.Sequential(Pause())
    after_bad = False
    for number, batch in enumerate(watch.batches(loader_of(24))):
        try:
            if number % 6 == 4 and number > 6:
                bad(batch[0])
                _raise()
        except _Bad:
            after_bad = True
            continue
        loss = one.loss(batch)
        watch.backward(loss)
        with watch.optimizer():
            one.optimizer.step()
        watch.done(2 * BATCH if after_bad else BATCH, epoch=0, failed=after_bad)
        after_bad = False
