"""Which samples epochs begin with: noted as they pass by, and compared."""

import gc
import random
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SubsetRandomSampler,
)

from perftui.trainer.probe.drawn_orders import draws_by_chance
from perftui.trainer.probe.order_reading import (
    Dealt,
    OrderAlike,
    OrderWatch,
    asks_by_index,
    let_pass,
    numbers_of,
)

pytestmark = pytest.mark.torch


class Numbers(Dataset[int]):
    def __init__(self, count: int = 400) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        return index


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(8))


class Once(Sampler[int]):
    """Shuffled in the constructor."""

    def __init__(self, count: int) -> None:
        generator = torch.Generator().manual_seed(5)
        self.order: list[int] = torch.randperm(count, generator=generator).tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.order)


class ByLength(Sampler[int]):
    def __init__(self, lengths: list[int]) -> None:
        self.lengths = lengths

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(range(len(self.lengths)), key=self.lengths.__getitem__))


class ByLengthAndChance(ByLength):
    def __iter__(self) -> Iterator[int]:
        return iter(sorted(range(len(self.lengths)), key=lambda at: (self.lengths[at], random.random())))


def _helper(count: int) -> list[int]:
    order = list(range(count))
    random.Random(3).shuffle(order)
    return order


class ByHelper(Sampler[int]):
    def __init__(self, *, shuffle: bool) -> None:
        self.shuffle = shuffle

    def __iter__(self) -> Iterator[int]:
        return iter(_helper(8) if self.shuffle else range(8))


def watched(watch: OrderWatch, asked: Iterable[Any]) -> OrderAlike | None:
    dealt = watch.begin()
    for each in asked:
        if not dealt.note(each):
            break
    return watch.alike()


ORDER = [[3, 1], [0, 2], [7, 4], [6, 5], [9, 8]]


def test_epochs_are_alike_as_far_as_both_were_seen() -> None:
    watch = OrderWatch()
    assert watch.alike() is None
    assert watched(watch, ORDER) == OrderAlike(1, 5, 10, in_line=False)
    assert watched(watch, ORDER[:4]) == OrderAlike(2, 4, 8, in_line=False)
    assert watched(watch, ORDER) == OrderAlike(3, 4, 8, in_line=False)
    other = [*ORDER[:3], [5, 6], ORDER[4]]
    assert watched(watch, other) == OrderAlike(1, 5, 10, in_line=False)
    assert watched(watch, ORDER) == OrderAlike(1, 5, 10, in_line=False)


def test_a_look_at_a_batch_or_two_is_passed_over() -> None:
    watch = OrderWatch()
    watched(watch, ORDER)
    assert watched(watch, [[8, 8], [9, 9], [1, 1]]) == OrderAlike(1, 5, 10, in_line=False)
    assert watched(watch, []) == OrderAlike(1, 5, 10, in_line=False)
    assert watched(watch, ORDER) == OrderAlike(2, 5, 10, in_line=False)


@pytest.mark.parametrize(
    ("asked", "in_line"),
    [
        ([[0, 1], [2, 3], [4, 5], [6, 7]], True),
        ([[9, 7], [5, 4], [3, 2], [1, 0]], True),
        ([[0, 2], [4, 6], [1, 3], [5, 7]], False),
    ],
)
def test_an_order_that_only_rises_or_falls(asked: list[list[int]], in_line: bool) -> None:
    alike = watched(OrderWatch(), asked)
    assert alike is not None
    assert alike.in_line is in_line


def test_no_more_than_some_of_some_batches_are_looked_at() -> None:
    dealt = Dealt()
    wanted = [dealt.note(list(range(100))) for _ in range(40)]
    assert wanted.index(False) == 31
    assert dealt.samples[31] == 256


class _Uncountable:
    def __index__(self) -> int:
        raise AssertionError


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        (5, [5]),
        ([5, 6], [5, 6]),
        ((5, 6), [5, 6]),
        (range(20), list(range(8))),
        (torch.tensor(5), [5]),
        (torch.arange(20), list(range(8))),
        ([torch.tensor(5), torch.tensor(6)], [5, 6]),
        (torch.arange(4).reshape(2, 2), None),
        ([torch.arange(2)], None),
        (torch.ones(3), None),
        (iter([5, 6]), None),
        ([(5, 1), (6, 1)], None),
        (["a"], None),
        ([_Uncountable()], None),
        ([True], None),
        (None, None),
        ([], []),
    ],
)
def test_indices_are_read_where_that_takes_nothing_away(asked: object, numbers: list[int] | None) -> None:
    assert numbers_of(asked) == numbers


def test_indices_of_numpy() -> None:
    np = pytest.importorskip("numpy")
    assert numbers_of(np.arange(3)) == [0, 1, 2]
    assert numbers_of([np.int64(4), np.int32(5)]) == [4, 5]
    assert numbers_of(np.int64(4)) == [4]
    assert numbers_of(np.ones(2)) is None


# --- real iterators ---


def _gone_through(watch: OrderWatch, loader: DataLoader[Any], batches: int | None = None) -> list[list[int]]:
    """Go through a loader's epoch, whose order is noted, and return what came."""
    iterator: Any = iter(loader)
    own = iterator._sampler_iter
    assert asks_by_index(iterator)
    let_pass(iterator, watch.begin().note)
    assert not asks_by_index(iterator)
    found: list[list[int]] = []
    for number, batch in enumerate(iterator, 1):
        found.append(batch.tolist())
        assert (iterator._sampler_iter is own) is (number >= 32)  # it has stepped aside
        if number == batches:
            break
    return found


def test_what_passes_is_what_the_sampler_deals() -> None:
    torch.manual_seed(7)
    plain = [batch.tolist() for batch in DataLoader(Numbers(), batch_size=10, shuffle=True)]
    state = torch.get_rng_state()
    torch.manual_seed(7)
    assert _gone_through(OrderWatch(), DataLoader(Numbers(), batch_size=10, shuffle=True)) == plain
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("options", "times"),
    [
        ({"batch_size": 8, "sampler": Once(400)}, 3),
        ({"batch_size": None, "sampler": Once(400)}, 3),
        ({"batch_sampler": BatchSampler(Once(400), 8, drop_last=True)}, 3),
        ({"batch_size": 8, "shuffle": True}, 1),
        ({"batch_size": 8, "sampler": RandomSampler(Numbers(), replacement=True)}, 1),
        ({"batch_size": 8, "sampler": SubsetRandomSampler(range(100))}, 1),
    ],
)
def test_three_epochs_of_a_loader(options: dict[str, Any], times: int) -> None:
    if options.get("batch_size", 1) is None:
        options = {**options, "collate_fn": torch.tensor}
    loader, watch = DataLoader(Numbers(), **options), OrderWatch()
    for _ in range(3):
        _gone_through(watch, loader)
    alike = watch.alike()
    assert alike is not None
    assert (alike.times, alike.in_line) == (times, False)


def test_epochs_that_the_script_ends_early_and_in_line() -> None:
    watch, loader = OrderWatch(), DataLoader(Numbers(), batch_size=8)
    for batches in (6, 5):
        _gone_through(watch, loader, batches)
    assert watch.alike() == OrderAlike(2, 5, 40, in_line=True)


def test_a_stream_has_no_indices() -> None:
    assert not asks_by_index(iter(DataLoader(Stream(), batch_size=2)))


def test_an_iterator_goes_as_soon_as_it_is_let_go() -> None:
    iterator: Any = iter(DataLoader(Numbers(), batch_size=4))
    let_pass(iterator, Dealt().note)
    next(iterator)
    kept = weakref.ref(iterator)
    gc.disable()
    try:
        del iterator
        assert kept() is None
    finally:
        gc.enable()


# --- code ---


@pytest.mark.parametrize(
    ("sampler", "draws"),
    [
        (Once(8), True),
        (ByLength([3, 1, 2]), False),
        (ByLengthAndChance([3, 1, 2]), False),
        (ByHelper(shuffle=True), True),
        (ByHelper(shuffle=False), False),
        (RandomSampler(Numbers()), True),
        (SubsetRandomSampler(range(4)), True),
        (BatchSampler(ByLength([1]), 2, drop_last=False), False),
        ([3, 1, 2], None),
    ],
)
def test_whether_a_samplers_code_draws(sampler: Any, draws: bool | None) -> None:  # noqa: ANN401
    chain = [sampler, sampler.sampler] if isinstance(sampler, BatchSampler) else [sampler]
    assert draws_by_chance(chain) is draws
