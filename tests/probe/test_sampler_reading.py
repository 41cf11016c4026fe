"""Order of the samples, read from real loaders and samplers."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler
from torch.utils.data.distributed import DistributedSampler

from perftui.ipc.loader_facts import SamplingFacts
from perftui.trainer.probe.loader_settings import LoaderBook
from perftui.trainer.probe.sampler_reading import GONE, NOT_SEEN, SamplerWatch

pytestmark = pytest.mark.torch


class Numbers(Dataset[int]):
    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> int:
        return index


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


class Backwards(Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(15, -1, -1))


class Wrapped(Sampler[int]):
    """As libraries do: a sampler of one's own, divided among the ranks from outside."""

    def __init__(self, sampler: Sampler[int]) -> None:
        self.sampler = sampler

    def __iter__(self) -> Iterator[int]:
        return iter(self.sampler)


def distributed(**options: Any) -> DistributedSampler[int]:  # noqa: ANN401
    return DistributedSampler(Numbers(), num_replicas=2, rank=1, **options)


def begun(watch: SamplerWatch, loader: DataLoader[Any], index: int = 0) -> SamplingFacts:
    watch.begin(index, loader)
    return read(watch, index)


def read(watch: SamplerWatch, index: int = 0, trained: int = 99) -> SamplingFacts:
    """Read a loader, of which every iterator was trained on unless it is said how many were."""
    facts, reason = watch.read(index, trained)
    assert reason is None
    assert facts is not None
    return facts


@pytest.mark.parametrize(
    ("options", "sampler", "shuffle"),
    [
        ({"shuffle": True}, "RandomSampler", True),
        ({}, "SequentialSampler", False),
        ({"sampler": Backwards()}, "Backwards", None),
        ({"sampler": Wrapped(Backwards())}, "Backwards", None),
    ],
)
def test_the_order_is_known_where_the_sampler_says_it(
    options: dict[str, Any], sampler: str, shuffle: bool | None
) -> None:
    loader = DataLoader(Numbers(), batch_size=4, **options)
    facts = begun(SamplerWatch(), loader)
    assert (facts.sampler, facts.shuffle) == (sampler, shuffle)
    assert (facts.distributed, facts.num_replicas, facts.set_epoch) == (False, None, None)
    assert facts.batch_sampler == "BatchSampler"


def test_a_stream_has_no_order() -> None:
    facts = begun(SamplerWatch(), DataLoader(Stream(), batch_size=2))
    assert (facts.shuffle, facts.distributed) == (None, False)


@pytest.mark.parametrize("wrapping", ["sampler", "batch sampler", "around it"])
def test_a_distributed_sampler_is_found_wherever_it_is(wrapping: str) -> None:
    sampler = distributed(seed=7, shuffle=False)
    ways: dict[str, dict[str, Any]] = {
        "sampler": {"batch_size": 4, "sampler": sampler},
        "batch sampler": {"batch_sampler": BatchSampler(sampler, 4, drop_last=False)},
        "around it": {"batch_size": 4, "sampler": Wrapped(sampler)},
    }
    facts = begun(SamplerWatch(), DataLoader(Numbers(), **ways[wrapping]))
    assert (facts.sampler, facts.distributed) == ("DistributedSampler", True)
    assert (facts.num_replicas, facts.rank, facts.seed, facts.shuffle) == (2, 1, 7, False)
    assert (facts.epochs_begun, facts.epoch, facts.set_epoch) == (1, 0, None)


def test_set_epoch_is_seen_when_the_epoch_moves() -> None:
    sampler = distributed()
    loader = DataLoader(Numbers(), batch_size=4, sampler=sampler)
    watch = SamplerWatch()
    for epoch in range(3):
        sampler.set_epoch(epoch)
        watch.begin(0, loader)
    facts = read(watch)
    assert (facts.epochs_begun, facts.epoch, facts.set_epoch) == (3, 2, True)


def test_without_set_epoch_the_second_epoch_shows_it() -> None:
    loader = DataLoader(Numbers(), batch_size=4, sampler=distributed())
    watch = SamplerWatch()
    assert begun(watch, loader).set_epoch is None
    assert begun(watch, loader).set_epoch is False


@pytest.mark.parametrize("looks", [1, 3])
def test_a_look_at_a_batch_is_no_epoch(looks: int) -> None:
    sampler = distributed()
    loader = DataLoader(Numbers(), batch_size=4, sampler=sampler)
    watch = SamplerWatch()
    for _ in range(looks):
        watch.begin(0, loader)
        facts = read(watch, trained=0)
        assert (facts.epochs_begun, facts.set_epoch) == (0, None)
    for trained in range(2):
        sampler.set_epoch(trained)
        watch.begin(0, loader)
        for seen in (trained, trained + 1):  # before its first backward, and after it
            facts = read(watch, trained=seen)
            assert (facts.epochs_begun, facts.set_epoch) == (seen, True if trained else None)


def test_a_look_under_the_seed_of_the_first_epoch_is_none_either() -> None:
    loader = DataLoader(Numbers(), batch_size=4, shuffle=True)
    watch = SamplerWatch()
    for _ in range(2):
        torch.manual_seed(0)
        watch.begin(0, loader)
        watch.iterate(0, iter(loader))
    assert read(watch, trained=1).epochs_alike == 1
    assert read(watch, trained=2).epochs_alike == 2


def test_a_resumed_first_epoch_shows_it_and_an_epoch_that_stands_still_does_not() -> None:
    sampler = distributed()
    sampler.set_epoch(5)
    loader = DataLoader(Numbers(), batch_size=4, sampler=sampler)
    watch = SamplerWatch()
    assert begun(watch, loader).set_epoch is True
    assert begun(watch, loader).set_epoch is False


@pytest.mark.parametrize("moves", [True, False])
def test_loaders_that_are_built_anew_count_as_one(moves: bool) -> None:
    watch = SamplerWatch()
    kept = []
    for epoch in range(3):
        sampler = distributed()
        if moves:
            sampler.set_epoch(epoch)
        kept.append(DataLoader(Numbers(), batch_size=4, sampler=sampler))
        watch.begin(0, kept[-1])
    facts = read(watch)
    assert (facts.epochs_begun, facts.set_epoch) == (3, moves)


def test_what_is_gone_leaves_its_last_reading() -> None:
    watch = SamplerWatch()
    assert watch.read(None, 0) == (None, NOT_SEEN)
    assert watch.read(0, 0) == (None, NOT_SEEN)
    known = begun(watch, DataLoader(Numbers(), batch_size=4, shuffle=True))
    assert read(watch) == known
    watch.begin(1, DataLoader(Numbers(), batch_size=4, sampler=distributed(seed=3)))
    assert read(watch, 1).seed == 3
    watch.begin(2, DataLoader(Numbers(), batch_size=4, sampler=Backwards()))
    assert watch.read(2, 0) == (None, GONE)


def test_preparation_of_workers_and_a_generator_are_told() -> None:
    def prepare(_worker: int) -> None:
        pass

    loader = DataLoader(Numbers(), 4, shuffle=True, worker_init_fn=prepare, generator=torch.Generator())
    facts = begun(SamplerWatch(), loader)
    assert (facts.worker_init_fn, facts.generator) == (True, True)
    plain = begun(SamplerWatch(), DataLoader(Numbers(), 4))
    assert (plain.worker_init_fn, plain.generator) == (False, False)


def test_the_book_of_loaders_notes_each_iteration() -> None:
    book = LoaderBook({})
    loader = DataLoader(Numbers(), batch_size=4, shuffle=True)
    assert book.index_of(0) is None
    key = book.note(loader)
    book.note(loader)
    index = book.index_of(key)
    assert index == book.index(loader)
    facts, _ = book.samplers.read(index, 99)
    assert facts is not None
    assert (facts.epochs_begun, facts.loader) == (2, index)


def _alike(watch: SamplerWatch, loader: DataLoader[Any]) -> int | None:
    watch.begin(0, loader)
    watch.iterate(0, iter(loader))
    return read(watch).epochs_alike


def test_epochs_that_begin_with_the_same_random_state() -> None:
    watch, orders, counts = SamplerWatch(), [], []
    for seed in (1, 1, 1, 2, None):
        if seed is not None:
            torch.manual_seed(seed)
        loader = DataLoader(Numbers(), batch_size=4, shuffle=True)
        counts.append(_alike(watch, loader))
        torch.manual_seed(seed or 3)
        orders.append([int(number) for batch in loader for number in batch])
    assert counts == [1, 2, 3, 1, 1]
    assert orders[0] == orders[1] == orders[2] != orders[3]


def test_orders_that_are_not_drawn_from_the_iterators_state() -> None:
    own = torch.Generator()
    for loader in (
        DataLoader(Numbers(), batch_size=4),
        DataLoader(Numbers(), batch_size=4, sampler=RandomSampler(Numbers(), generator=own)),
        DataLoader(Numbers(), batch_size=4, sampler=Backwards()),
    ):
        watch = SamplerWatch()
        for _ in range(2):
            torch.manual_seed(1)
            assert _alike(watch, loader) is None


def test_a_generator_of_the_script_that_goes_on() -> None:
    generator = torch.Generator().manual_seed(5)
    loader = DataLoader(Numbers(), batch_size=4, shuffle=True, generator=generator)
    watch = SamplerWatch()
    assert [_alike(watch, loader), _alike(watch, loader)] == [1, 1]
    for count in (1, 2):
        generator.manual_seed(6)
        assert _alike(watch, loader) == count
