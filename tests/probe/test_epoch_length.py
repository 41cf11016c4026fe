"""How long an epoch is, without code of the script's; a loader that cannot be read costs its facts alone."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    Sampler,
    SequentialSampler,
    TensorDataset,
    WeightedRandomSampler,
)
from torch.utils.data.distributed import DistributedSampler

from perftui.ipc.messages import Effective, Goodbye
from perftui.trainer.probe.border import FAILURES_ALLOWED, Border
from perftui.trainer.probe.epoch_length import epoch_length
from perftui.trainer.probe.loader_settings import LoaderBook
from perftui.trainer.probe.recorder import LOADER_KEY, Recorder
from tests.probe.training_scripts import PREAMBLE

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = pytest.mark.torch

ROWS = TensorDataset(torch.arange(24.0))


class Own(Sampler[Any]):
    """A sampler that must not be asked for its length."""

    asked = 0

    def __init__(self) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(range(24))

    def __len__(self) -> int:
        Own.asked += 1
        raise ValueError("the number of batches is not known")


class OwnBatches(BatchSampler):
    """A batch sampler that goes its own way, and has torch's length."""

    def __iter__(self) -> Iterator[list[int]]:
        return super().__iter__()


class Without(Sampler[Any]):
    """As endless samplers are written: no length, round another sampler."""

    def __init__(self, sampler: Any) -> None:  # noqa: ANN401
        self.sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield from self.sampler


class OwnLoader(DataLoader[Any]):
    def __len__(self) -> int:
        Own.asked += 1
        return 7


class Failing(TensorDataset):
    def __len__(self) -> int:
        raise ValueError("still downloading")


def batches_of(sampler: Any) -> DataLoader[Any]:  # noqa: ANN401
    return DataLoader(ROWS, batch_sampler=sampler)


@pytest.mark.parametrize(
    ("loader", "batches"),
    [
        (DataLoader(ROWS, batch_size=4), 6),
        (DataLoader(ROWS, batch_size=5, shuffle=True, drop_last=True), 4),
        (DataLoader(ROWS, batch_size=None), 24),
        (DataLoader(ROWS, 4, sampler=WeightedRandomSampler([1.0] * 24, 8)), 2),
        (DataLoader(ROWS, 4, sampler=DistributedSampler(ROWS, num_replicas=2, rank=0)), 3),
        (DataLoader(ROWS, 4, sampler=range(8)), 2),
        (batches_of([[0, 1], [2]]), 2),
        (batches_of(OwnBatches(RandomSampler(ROWS), 8, drop_last=False)), 3),
    ],
)
def test_torchs_own_say_it(loader: DataLoader[Any], batches: int) -> None:
    assert epoch_length(loader) == len(loader) == batches


OWN_IN_BATCHES: Any = BatchSampler(Own(), 4, drop_last=False)


@pytest.mark.parametrize(
    "loader",
    [
        DataLoader(ROWS, 4, sampler=Own()),
        DataLoader(ROWS, None, sampler=Own()),
        batches_of(Own()),
        batches_of(OWN_IN_BATCHES),
        batches_of(BatchSampler(OWN_IN_BATCHES, 2, drop_last=True)),
        batches_of(Without(Own())),
        OwnLoader(ROWS, 4),
    ],
    ids=["sampler", "single samples", "batch sampler", "within", "deep within", "no length", "loader"],
)
def test_what_the_script_wrote_is_not_asked(loader: DataLoader[Any]) -> None:
    Own.asked = 0
    assert epoch_length(loader) is None
    assert Own.asked == 0


def test_what_has_no_length_and_a_data_set_that_fails_are_no_error() -> None:
    assert epoch_length(batches_of(Without(SequentialSampler(ROWS)))) is None
    assert (
        epoch_length(DataLoader(Failing(torch.arange(4.0)), 2, sampler=SequentialSampler(Failing()))) is None
    )


class Unreadable:
    """A loader of which not even the number of workers can be told."""

    @property
    def num_workers(self) -> int:
        raise ValueError("not yet")


class Batches:
    """An iterator."""


def test_a_loader_that_cannot_be_read_has_its_key_and_harms_no_other() -> None:
    recorder = Recorder(Border(), LoaderBook({}), lambda: None)
    note = recorder.border.guard("iterator end", recorder.note_iterator)
    bad, good = Unreadable(), DataLoader(ROWS, 4)
    for _ in range(2 * FAILURES_ALLOWED):
        iterator = Batches()
        note(bad, iterator)
        assert vars(iterator)[LOADER_KEY] == recorder.book.key(bad)
    assert recorder.border.take_reports() == ["loader: ValueError: not yet"]
    note(good, iter(good))
    facts = recorder.book.facts(recorder.book.key(good))
    assert facts is not None
    assert facts.batches_per_epoch == 6


BUCKETS = (
    PREAMBLE
    + """
class Buckets(torch.utils.data.Sampler):
    # as samplers of graphs are written: how many batches there are shows only when they are made
    def __iter__(self):
        for first in range(0, 24, 4):
            yield list(range(first, first + 4))
    def __len__(self):
        raise ValueError("the number of steps is unknown")

loader = DataLoader(Data(), batch_sampler=Buckets())
val = DataLoader(Data(8), 4)
for epoch in range(7):
    for batch in loader:
        step(batch)
    with torch.no_grad():
        for x, y in val:
            model(x)
"""
)


@pytest.mark.slow
def test_a_training_whose_sampler_knows_no_length_is_followed_to_its_end(hub: "Hub") -> None:
    outcome = hub.train(BUCKETS)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.of(Goodbye)[0].errors == 0
    assert outcome.column("epoch") == [epoch for epoch in range(7) for _ in range(6)]
    facts = outcome.of(Effective)[-1].loader
    assert facts is not None
    assert (facts.index, facts.batches_per_epoch) == (0, None)
    assert outcome.of(Effective)[-1].settings["loader.num_workers"] == 0
