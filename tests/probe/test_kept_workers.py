"""Workers kept for a setting: let go where the script alters the dataset that they have a copy of."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.utils.data import ConcatDataset, Dataset, Subset

from perftui.trainer.probe.kept_workers import difference, holding

from .altered_scripts import trained
from .training_scripts import PREAMBLE

if TYPE_CHECKING:
    from .conftest import Hub

pytestmark = pytest.mark.torch


class Flip:
    """A transform."""

    share = 0.5


class Rows(Dataset[int]):
    """What scripts alter from epoch to epoch."""

    def __init__(self) -> None:
        self.samples = list(range(1000))
        self.numbers = torch.arange(1000)
        self.mosaic = True
        self.nothing = float("nan")
        self.options = SimpleNamespace(epoch=0)
        self.transform = SimpleNamespace(transforms=[Flip(), Flip()])
        self.blur = nn.Dropout(0.5)
        self.table: dict[str, Any] = {"a": 1}

    def __len__(self) -> int:
        return 10


def _draw_anew(rows: Rows) -> None:
    rows.samples = list(range(1000))


def _mosaic_off(rows: Rows) -> None:
    rows.mosaic = False


def _shuffle(rows: Rows) -> None:
    rows.samples.reverse()


def _add_in_place(rows: Rows) -> None:
    rows.numbers.add_(1)


def _count_epochs(rows: Rows) -> None:
    rows.options.epoch += 1


def _weaken(rows: Rows) -> None:
    rows.transform.transforms[1].share = 0.1


def _blur_less(rows: Rows) -> None:
    rows.blur.p = 0.1


def _enter(rows: Rows) -> None:
    rows.table["b"] = 2


def _new_attribute(rows: Rows) -> None:
    vars(rows)["epoch"] = 1


def _within(rows: Rows) -> Dataset[int]:
    return ConcatDataset([Subset(rows, range(10)), Rows()])


def _itself(rows: Rows) -> Dataset[int]:
    return rows


@pytest.mark.parametrize("of", [_itself, _within])
@pytest.mark.parametrize(
    ("alter", "where"),
    [
        (_draw_anew, "samples"),
        (_mosaic_off, "mosaic"),
        (_shuffle, "samples"),
        (_add_in_place, "numbers"),
        (_count_epochs, "options.epoch"),
        (_weaken, "transform.transforms[1].share"),
        (_blur_less, "blur.p"),
        (_enter, "table"),
        (_new_attribute, "epoch"),
    ],
)
def test_what_scripts_alter_is_seen(
    of: Callable[[Rows], Dataset[int]], alter: Callable[[Rows], None], where: str
) -> None:
    rows = Rows()
    dataset = of(rows)
    before = holding(dataset)
    assert difference(before, holding(dataset)) is None
    alter(rows)
    found = difference(before, holding(dataset))
    assert found is not None
    assert found.endswith(where)


def test_arrays_that_are_written_in_place() -> None:
    numpy = pytest.importorskip("numpy")
    rows = SimpleNamespace(values=numpy.zeros((8, 8)), none=numpy.zeros(0))
    before = holding(rows)
    assert difference(before, holding(rows)) is None
    rows.values[:] = 1
    assert difference(before, holding(rows)) == "dataset.values"


def test_what_holds_itself_and_what_is_endless_ends() -> None:
    rows = Rows()
    vars(rows)["again"] = rows
    vars(rows)["many"] = [SimpleNamespace(**{str(n): n for n in range(100)}) for _ in range(100)]
    assert len(holding(rows)) <= 512


SCRIPT = """
import json
from torch.utils.data import Subset

class Told(Data):
    offset, table = 0, [0.0]
    def __init__(self, size):
        super().__init__(size)
        self.table = [0.0] * 64
    def __getitem__(self, index):
        return torch.full((8,), self.offset + self.table[0]), index % 2

dataset = Told(16)
loader = DataLoader(Subset(dataset, range(16)), batch_size=8, num_workers=1)
seen = []
for epoch in range(3):
    ALTER
    for x, y in loader:
        seen.append(x[0, 0].item())
        step((x, y))
print(json.dumps(seen))
import time
time.sleep(2)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alter", "told_of"),
    [
        ("dataset.offset = epoch", "dataset.dataset.offset"),
        ("dataset.table[0] = float(epoch)", "dataset.dataset.table"),
    ],
)
def test_kept_workers_never_feed_what_is_no_longer_so(module_hub: "Hub", alter: str, told_of: str) -> None:
    said, told = trained(
        module_hub, PREAMBLE + SCRIPT.replace("ALTER", alter), {"loader.persistent_workers": True}
    )
    assert said == [0.0] * 2 + [1.0] * 2 + [2.0] * 2
    assert told.failed == {
        "loader.persistent_workers": f"the script alters {told_of} between epochs, which persistent workers "
        "would not hear"
    }
    assert told.settings["loader.persistent_workers"] is False


@pytest.mark.slow
def test_workers_are_kept_where_nothing_is_altered(module_hub: "Hub") -> None:
    script = PREAMBLE + SCRIPT.replace("ALTER", "pids = getattr(loader._iterator, '_workers', None)")
    said, told = trained(module_hub, script, {"loader.persistent_workers": True})
    assert said == [0.0] * 6
    assert (told.failed, told.settings["loader.persistent_workers"]) == ({}, True)
