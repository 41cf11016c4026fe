"""Real loader workers tell whether the script gave them all the same random numbers."""

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from perftui.trainer.probe.worker_states import ToldInit, WorkerStates, states_for

pytestmark = pytest.mark.torch


class _Draws(Dataset[float]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> float:
        return float(np.random.random())


def _nothing(_worker: int) -> None:
    pass


def _numpy_alike(_worker: int) -> None:
    np.random.seed(42)


def _numpy_apart(_worker: int) -> None:
    np.random.seed(torch.initial_seed() % 2**32)


def _all_alike(worker: int) -> None:
    random.seed(1)
    torch.manual_seed(1)  # pyright: ignore[reportUnknownMemberType]
    _numpy_alike(worker)


def _fail(_worker: int) -> None:
    raise RuntimeError("not prepared")


def _started(init: Callable[[int], None]) -> WorkerStates:
    states = WorkerStates(2)
    loader: DataLoader[Any] = DataLoader(
        _Draws(),
        batch_size=2,
        num_workers=2,
        worker_init_fn=ToldInit(init, states.tell),
        multiprocessing_context="fork",
    )
    assert len(list(loader)) == 4
    return states


@pytest.mark.parametrize(
    ("init", "alike"),
    [
        (_nothing, []),
        (_numpy_apart, []),
        (_numpy_alike, ["numpy"]),
        (_all_alike, ["random", "numpy", "torch"]),
    ],
)
def test_generators_that_are_alike_in_all_workers(init: Callable[[int], None], alike: list[str]) -> None:
    assert _started(init).alike() == alike


def test_workers_that_have_not_told_are_not_judged() -> None:
    states = WorkerStates(2)
    assert states.alike() is None
    states.tell(0)
    assert states.alike() is None
    states.tell(1)
    assert {"random", "torch"} <= set(states.alike() or ())  # both of one process


def test_what_the_script_raises_is_raised() -> None:
    states = WorkerStates(2)
    with pytest.raises(RuntimeError, match="not prepared"):
        ToldInit(_fail, states.tell)(0)
    assert states.alike() is None


@pytest.mark.parametrize(
    ("workers", "init", "context", "asked"),
    [
        (2, _nothing, "fork", True),
        (2, None, "fork", False),
        (1, _nothing, "fork", True),
        (0, _nothing, None, False),
        (2, _nothing, "spawn", False),
    ],
)
def test_who_is_asked(
    workers: int, init: Callable[[int], None] | None, context: str | None, asked: bool
) -> None:
    loader: DataLoader[Any] = DataLoader(
        _Draws(), num_workers=workers, worker_init_fn=init, multiprocessing_context=context
    )
    assert (states_for(loader) is not None) is asked


def _slow(worker: int) -> None:
    time.sleep(0.05 + 0.1 * worker)


def test_the_slowest_preparation_is_told() -> None:
    assert WorkerStates(2).longest_s() is None
    took_s = _started(_slow).longest_s()
    assert took_s is not None
    assert 0.15 <= took_s < 5


def test_one_worker_is_like_no_other() -> None:
    states = WorkerStates(1)
    states.tell(0, 0.5)
    assert (states.alike(), states.longest_s()) == (None, 0.5)
