"""Garbage collections: real ones, counted; inert in what is forked."""

import gc
import itertools
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from perftui.trainer.probe.gc_pauses import GcWatch, Pause, pause_text

pytestmark = pytest.mark.torch


@pytest.fixture
def quiet() -> Iterator[None]:
    """No collection begins by itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def watch(quiet: None) -> Iterator[GcWatch]:
    ticks = itertools.count(0, 4_000_000)  # each look at the clock is 4 ms after the last
    watching = GcWatch(pause_ms=4.0, clock=lambda: next(ticks) + 1)
    watching.begin()
    yield watching
    watching.end()


class Cycle:
    def __init__(self) -> None:
        self.me = self


def test_collections_are_counted_and_timed_by_generation(watch: GcWatch) -> None:
    for generation in (0, 0, 1, 2):
        gc.collect(generation)
    facts = watch.facts()
    assert facts.counts == [2, 1, 1]
    assert facts.total_ms == [8.0, 4.0, 4.0]
    assert (facts.longest_ms, facts.long_pauses) == (4.0, 4)
    assert not facts.enabled
    assert facts.threshold == list(gc.get_threshold())


def test_long_ones_are_kept_with_what_they_freed_until_they_are_taken(watch: GcWatch) -> None:
    Cycle()
    gc.collect(0)
    gc.collect(2)
    first, second = watch.take_pauses()
    assert (first.generation, first.duration_ns) == (0, 4_000_000)
    assert first.collected >= 1
    assert second.generation == 2
    assert second.at_ns == first.at_ns + 8_000_000
    assert watch.take_pauses() == []


def test_short_ones_are_no_events_but_count(quiet: None) -> None:
    watching = GcWatch(pause_ms=1e9)
    watching.begin()
    gc.collect()
    watching.end()
    assert watching.take_pauses() == []
    facts = watching.facts()
    assert facts.counts == [0, 0, 1]
    assert facts.total_ms[2] > 0
    assert facts.longest_ms == facts.total_ms[2]


def test_a_collection_in_another_thread_counts(watch: GcWatch) -> None:
    thread = threading.Thread(target=gc.collect)
    thread.start()
    thread.join()
    assert watch.facts().counts == [0, 0, 1]


def test_what_had_begun_before_is_not_counted(watch: GcWatch) -> None:
    watch.heard("stop", {"generation": 2, "collected": 0, "uncollectable": 0})
    assert watch.facts().counts == [0, 0, 0]


def test_nothing_stays_after_the_end(quiet: None) -> None:
    before = list(gc.callbacks)
    watching = GcWatch()
    watching.begin()
    assert len(gc.callbacks) == len(before) + 1
    watching.end()
    watching.end()
    assert gc.callbacks == before
    gc.collect()
    assert watching.facts().counts == [0, 0, 0]


def ours() -> int:
    return sum(isinstance(getattr(callback, "__self__", None), GcWatch) for callback in gc.callbacks)


def test_a_forked_child_does_not_watch(watch: GcWatch) -> None:
    assert ours() == 1
    child = os.fork()
    if child == 0:
        again = GcWatch()
        again.begin()  # a child that trains itself watches for itself
        os._exit(10 * (ours() - 1) + sum(watch.facts().counts))
    assert os.waitpid(child, 0)[1] == 0
    assert ours() == 1


class Callbacks(Dataset[int]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return ours()


def test_loader_workers_do_not_watch(watch: GcWatch) -> None:
    loader: DataLoader[Any] = DataLoader(
        Callbacks(), batch_size=2, num_workers=2, multiprocessing_context="fork"
    )
    assert torch.cat(list(loader)).tolist() == [0] * 4
    assert ours() == 1


def test_pauses_in_words() -> None:
    assert pause_text(Pause(0, 12_400_000, 2, 1234)) == "full garbage collection, 12 ms, 1,234 objects freed"
    assert pause_text(Pause(0, 30_000_000, 1, 0)) == "generation 1 garbage collection, 30 ms, 0 objects freed"
