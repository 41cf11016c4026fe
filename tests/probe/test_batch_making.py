"""What making batches takes: real loaders and workers, held against the times that datasets measure."""

import gc
import multiprocessing
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torch.utils.data._utils import fetch as fetch_module

from perftui.ipc.loader_facts import LoadingFacts
from perftui.trainer.probe.batch_making import NOT_TIMED, BatchMaking, patch_fetchers
from perftui.trainer.probe.border import Border

pytestmark = pytest.mark.torch


@pytest.fixture
def making(fetchers: dict[str, Any]) -> Iterator[BatchMaking]:
    border = Border()
    made = BatchMaking()
    patch_fetchers([border.guard("batch making", made.watch)])
    yield made
    assert border.take_reports() == []


def _busy(seconds: float) -> float:
    """Return how long it took, which is at least that long."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        pass
    return time.perf_counter() - begin


class Timed(Dataset[float]):
    """Samples are the time that they took."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> float:
        return _busy(0.002)


class TimedTogether(Timed):
    def __getitems__(self, indices: Sequence[int]) -> list[float]:
        return [_busy(0.002) for _ in indices]


class TimedStream(IterableDataset[float]):
    def __iter__(self) -> Iterator[float]:
        for _ in range(6):
            yield _busy(0.002)


def put_together(samples: Sequence[float]) -> tuple[float, float]:
    """Return what the samples took, and what this took."""
    return sum(samples), _busy(0.003)


def go_through(making: BatchMaking, loader: DataLoader[Any], index: int = 0) -> list[Any]:
    before = making.begin(index, loader.collate_fn)
    iterator = iter(loader)
    making.end(before)
    return list(iterator)


def told(making: BatchMaking, index: int = 0) -> LoadingFacts:
    facts, reason = making.read(index)
    assert facts is not None, reason
    return facts


@pytest.mark.parametrize("data", [Timed, TimedTogether, TimedStream])
@pytest.mark.parametrize("workers", [0, 2])
def test_each_time_is_at_least_what_the_script_measures_and_both_are_not_more_than_all(
    making: BatchMaking, data: Callable[[], Any], workers: int
) -> None:
    context = "fork" if workers else None
    loader: DataLoader[Any] = DataLoader(
        data(), 3, num_workers=workers, collate_fn=put_together, multiprocessing_context=context
    )
    begin = time.perf_counter()
    batches = go_through(making, loader)
    spent_s = time.perf_counter() - begin
    facts = told(making)
    assert facts.batches == len(batches) == (2 * workers or 2 if data is TimedStream else 4)
    rounded = 1e-6
    assert facts.fetch_s >= sum(fetched for fetched, _ in batches) - rounded
    assert facts.collate_s >= sum(collated for _, collated in batches) - rounded
    assert facts.fetch_s + facts.collate_s <= spent_s * max(1, workers)
    assert loader.collate_fn is put_together
    assert facts.collate == "put_together"


@pytest.mark.parametrize("kept", [False, True])
def test_workers_of_the_next_epoch_add_to_what_there_is(making: BatchMaking, kept: bool) -> None:
    loader: DataLoader[Any] = DataLoader(
        Timed(), 3, num_workers=2, persistent_workers=kept, multiprocessing_context="fork"
    )
    first = len(go_through(making, loader))
    before = told(making)
    assert first + len(go_through(making, loader)) == told(making).batches == 8
    assert told(making).fetch_s > before.fetch_s


def test_loaders_are_told_apart(making: BatchMaking) -> None:
    go_through(making, DataLoader(Timed(), 3), 1)
    go_through(making, DataLoader(Timed(), 6), 2)
    assert (told(making, 1).batches, told(making, 2).batches) == (4, 2)
    assert making.read(0) == making.read(None) == making.read(99) == (None, NOT_TIMED)


def identity(samples: list[float]) -> list[float]:
    return samples


@pytest.mark.parametrize("case", ["no batches", "own fetcher", "too many loaders"])
def test_what_is_not_timed_is_absent(making: BatchMaking, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    more: dict[str, Any] = {"batch_size": 3, "collate_fn": identity}
    if case == "no batches":
        more = {"batch_size": None}
    if case == "own fetcher":
        torchs: Any = vars(fetch_module)["_MapDatasetFetcher"]
        own = type("Own", (torchs,), {"fetch": torchs.fetch})
        monkeypatch.setattr(fetch_module, "_MapDatasetFetcher", own)
    index = 16 if case == "too many loaders" else 0
    assert len(go_through(making, DataLoader(Timed(), **more), index)) == 12 // (more["batch_size"] or 1)
    assert making.read(index) == (None, NOT_TIMED)


def test_a_loader_that_no_iterator_of_ours_was_made_of_is_not_timed(making: BatchMaking) -> None:
    assert len(list(DataLoader(Timed(), 3))) == 4
    assert making.read(0) == (None, NOT_TIMED)


class Putting:
    def __call__(self, samples: list[float]) -> list[float]:
        return samples

    def put(self, samples: list[float]) -> list[float]:
        return samples


@pytest.mark.parametrize(
    ("collate", "name"),
    [
        (None, "default_collate"),
        (Putting(), "Putting"),
        (Putting().put, "Putting.put"),
        (partial(identity), "identity"),
    ],
)
def test_what_puts_samples_together_is_named(
    making: BatchMaking, collate: Callable[[Any], Any] | None, name: str
) -> None:
    go_through(making, DataLoader(Timed(), 6, collate_fn=collate))
    assert told(making).collate == name


def broken(samples: list[float]) -> float:
    raise ValueError(f"not these: {samples}")


def test_what_the_script_raises_is_raised_and_nothing_is_counted(making: BatchMaking) -> None:
    loader: DataLoader[Any] = DataLoader(Timed(), 3, collate_fn=broken)
    with pytest.raises(ValueError, match="not these"):
        go_through(making, loader)
    assert making.read(0) == (None, NOT_TIMED)


class Held:
    pass


class HeldStream(IterableDataset[int]):
    def __init__(self) -> None:
        self.held: weakref.ref[Held] | None = None

    def __iter__(self) -> Iterator[int]:
        held = Held()
        self.held = weakref.ref(held)
        yield from range(4)


def test_an_iterator_that_is_let_go_of_ends_at_once(making: BatchMaking) -> None:
    """What it holds (files, connections) must not wait for the garbage collector."""
    data = HeldStream()
    before = making.begin(0, None)
    iterator = iter(DataLoader(data, 2))
    making.end(before)
    next(iterator)
    gc.disable()
    try:
        assert data.held is not None
        assert data.held() is not None
        del iterator
        assert data.held() is None
    finally:
        gc.enable()


class Within(Dataset[int]):
    """Reads from a loader of its own, in the worker."""

    def __init__(self, making: BatchMaking) -> None:
        self.making = making

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return len(go_through(self.making, DataLoader(Timed(), 6), 0))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_within_a_loader_is_not_counted_to_it(making: BatchMaking, workers: int) -> None:
    context = "fork" if workers else None
    loader: DataLoader[Any] = DataLoader(
        Within(making), 2, num_workers=workers, multiprocessing_context=context
    )
    assert len(go_through(making, loader, 3)) == 2
    assert told(making, 3).batches == 2
    assert (making.read(0)[0] is None) is bool(workers)


def _in_child(making: BatchMaking, results: "multiprocessing.Queue[object]") -> None:
    before, _ = making.read(0)
    go_through(making, DataLoader(Timed(), 6))
    results.put((before, told(making).batches))


def test_a_forked_rank_begins_anew(making: BatchMaking) -> None:
    go_through(making, DataLoader(Timed(), 3))
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[object] = context.Queue()
    child = context.Process(target=_in_child, args=(making, results))
    child.start()
    assert results.get(timeout=60) == (None, 2)
    child.join()
    assert told(making).batches == 4
