"""Activation checkpointing as looks at a real thread find it; and modules that are found being called."""

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest
import torch
from torch.utils.checkpoint import checkpoint  # pyright: ignore[reportUnknownVariableType]

from perftui.ipc.facts import StackFacts
from perftui.trainer.probe.model_reading import read_model
from perftui.trainer.probe.recomputation import recomputes
from perftui.trainer.probe.root_modules import RootModules
from perftui.trainer.probe.thread_looks import ThreadLooks

pytestmark = pytest.mark.torch


def _deep() -> torch.nn.Module:
    """Layers of which all but the last have to be computed again, for their inputs."""
    linear = [torch.nn.Linear(256, 256) for _ in range(4)]
    return torch.nn.Sequential(linear[0], torch.nn.Tanh(), linear[1], torch.nn.Tanh(), linear[2], linear[3])


class _Blocks(torch.nn.Module):
    """Layers, each of them run plainly or by torch's checkpoint."""

    def __init__(self, reentrant: bool | None) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(_deep() for _ in range(2))
        self.reentrant = reentrant

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            again = self.reentrant is not None
            hidden = checkpoint(layer, hidden, use_reentrant=self.reentrant) if again else layer(hidden)
        return hidden


@contextmanager
def _thread(work: Callable[[], object]) -> Generator[int, None, None]:
    ended = threading.Event()

    def loop() -> None:
        while not ended.is_set():
            work()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        assert thread.ident is not None
        yield thread.ident
    finally:
        ended.set()
        thread.join()


def _step(model: torch.nn.Module) -> Callable[[], object]:
    data = torch.randn(256, 256, requires_grad=True)
    return lambda: torch.autograd.backward(model(data).sum())


def _looked(looks: ThreadLooks, ident: int, least: int) -> StackFacts:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        looks.look(ident)
        found = looks.facts()
        if found is not None and found.areas.get("backward", 0) >= least:
            return found
        time.sleep(0.001)
    raise AssertionError("the backward was not found")


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpointed_forward_is_found_in_the_backward(reentrant: bool) -> None:
    with _thread(_step(_Blocks(reentrant))) as ident:
        found = _looked(ThreadLooks(), ident, 60)
    assert 0 < found.recomputing < found.areas["backward"]


def test_a_plain_backward_recomputes_nothing() -> None:
    with _thread(_step(_Blocks(None))) as ident:
        found = _looked(ThreadLooks(), ident, 40)
    assert found.recomputing == 0


def test_the_backward_of_a_gpu_has_a_thread_of_its_own() -> None:
    """Here another thread recomputes while the one looked at is in the engine."""

    def caught(ident: int, wanted: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not wanted():
            time.sleep(0.0005)
        return wanted()

    with _thread(_step(_Blocks(None))) as plain, _thread(_step(_Blocks(False))) as again:

        def both() -> bool:
            frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
            in_engine = frames[plain].f_code.co_name == "_engine_run_backward"
            return in_engine and recomputes({0: frames[plain], 1: frames[again]}, 0)

        assert caught(plain, both)
    assert not recomputes({}, 0)


def test_frozen_numbers_are_found_through_the_module_that_is_called() -> None:
    class Noisy(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean = torch.nn.Linear(256, 256)
            self.variance = torch.nn.Parameter(torch.full((256, 256), 1e-39), requires_grad=False)
            self.register_buffer("noise", torch.ones(256, 256))

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            hidden: torch.Tensor = self.mean(inputs)
            return hidden @ self.variance

    model, looks, modules = Noisy(), ThreadLooks(), RootModules()
    looks.modules = modules
    with _thread(_step(model)) as ident:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not any(each is model.variance for each in modules.tensors()):
            looks.look(ident)
            time.sleep(0.001)
    assert modules.changed
    optimizer = torch.optim.SGD(model.mean.parameters(), 0.1)
    assert read_model([optimizer], []).subnormal == 0.0
    facts = read_model([optimizer], [], modules.tensors())
    assert facts.subnormal == pytest.approx(256**2 / (3 * 256**2 + 256), abs=1e-4)
    assert facts.parameters == 256 * 256 + 256, "what is trained stays what it is"


def test_the_search_for_modules_ends() -> None:
    looks, modules = ThreadLooks(), RootModules()
    looks.modules = modules
    with _thread(_step(_Blocks(None))) as ident:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and modules.wanted:
            looks.look(ident)
            time.sleep(0.0005)
    assert not modules.wanted
