"""Streams that divide their data over workers: said to, said not to, or left open."""

from importlib import import_module
from itertools import count
from pathlib import Path
from typing import cast

import pytest
from torch.utils.data import DataLoader, IterableDataset

from perftui.trainer.probe.loader_reading import read_loader

pytestmark = pytest.mark.torch

_numbers = count()

_HEAD = """
import json
import queue
import random
from functools import partial

import numpy as np
import torch
from torch.utils.data import IterableDataset, TensorDataset

import elsewhere_NUMBER as elsewhere
import installed_NUMBER as installed
from elsewhere_NUMBER import Base, Sharding, every_other
from installed_NUMBER import Remote, open_remote

ROWS = list(range(8))
REMOTE = Remote()

def read(rows):
    yield from rows

def draw(rows):
    while True:
        yield rows[np.random.randint(len(rows))]

"""
_ELSEWHERE = """
from torch.utils.data import IterableDataset, get_worker_info

def every_other(rows):
    info = get_worker_info()
    return rows[info.id :: info.num_workers]

class Base(IterableDataset):
    def __iter__(self):
        yield from every_other(self.rows)

class Sharding:
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return iter(every_other(self.rows))
"""
_INSTALLED = """
from torch.utils.data import IterableDataset

class Remote:
    def __iter__(self):
        yield from range(8)

class Stream(IterableDataset):
    def __iter__(self):
        yield from self.rows

def open_remote(name):
    return Remote()
"""


def _loader(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> "DataLoader[int]":
    number = next(_numbers)
    installed = folder / "site-packages"
    installed.mkdir()
    (installed / f"installed_{number}.py").write_text(_INSTALLED)
    # not in the file of the dataset's class, which may not speak of workers
    (folder / f"elsewhere_{number}.py").write_text(_ELSEWHERE)
    (folder / f"stream_{number}.py").write_text(_HEAD.replace("NUMBER", str(number)) + source)
    monkeypatch.syspath_prepend(installed)
    monkeypatch.syspath_prepend(folder)
    made = vars(import_module(f"stream_{number}"))["made"]
    return DataLoader(cast("IterableDataset[int]", made()), num_workers=0)


def _class(body: str, *, base: str = "IterableDataset", held: str = "ROWS") -> str:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    begin = f"    def __init__(self):\n        self.rows = {held}\n"
    return f"class Stream({base}):\n{begin}    def __iter__(self):\n{lines}\nmade = Stream\n"


_LOOP = "yield from self.rows"
_WHOLE_BASE = """
class Whole(IterableDataset):
    def __iter__(self):
        yield from self.rows

"""
_READER = """
class Reader:
    def __init__(self, rows):
        self.rows = rows

    def read(self):
        return self.rows

"""
_WHOLE = {
    "its own rows": _class(_LOOP),
    "a helper that only reads": _class("yield from read(self.rows)"),
    "a generator of its own": _class("yield from (json.loads(str(row)) for row in self.rows)"),
    "a base that does not divide": _WHOLE_BASE + _class("yield from super().__iter__()", base="Whole"),
    "an array": _class(_LOOP, held="np.arange(8)"),
    "a dataset by numbers": _class(
        "for number in range(8):\n    yield self.rows[number]", held="TensorDataset(torch.ones(8))"
    ),
    "a global": _class("yield from ROWS"),
    "random numbers before its workers are": _class(_LOOP, held="torch.randn(8)"),
    "a class of its own that reads": _READER + _class("yield from self.rows.read()", held="Reader(ROWS)"),
}
_DIVIDED = {
    "by its number": _class("yield from self.rows[torch.utils.data.get_worker_info().id :: 2]"),
    "by a helper of another file": _class("yield from every_other(self.rows)"),
    "by a module of another file": _class("yield from elsewhere.every_other(self.rows)"),
    "a base in another file": "class Stream(Base):\n    rows = ROWS\n\nmade = Stream\n",
    "over one that does": _class(_LOOP, held="Sharding(ROWS)"),
    "over several that do": _class(
        "for each in self.rows:\n    yield from each", held="[Sharding(ROWS), Sharding(ROWS)]"
    ),
    "one made as it begins": _class("yield from Sharding(self.rows)"),
}
_OPEN = {
    "over an installed one": _class(_LOOP, held="Remote()"),
    "over installed ones": _class("for each in self.rows:\n    yield from each", held="{'a': Remote()}"),
    "over one in one of its own": _READER + _class("yield from self.rows.read()", held="Reader(Remote())"),
    "an installed one made as it begins": _class('yield from open_remote("name")'),
    "of an installed module": _class('yield from installed.open_remote("name")'),
    "an installed one imported as it begins": _class("import datasets\nyield from datasets.load()"),
    "an installed one of the module": _class("yield from REMOTE"),
    "a bound call": _class("yield from self.rows()", held="partial(open_remote, 'name')"),
    "a method": _class("yield from self.rows()", held="REMOTE.__iter__"),
    "a base that is installed": _class(_LOOP, base="installed.Stream"),
    "endless, by torch": _class("while True:\n    yield torch.randint(8, (1,))"),
    "endless, by NumPy": _class("while True:\n    yield np.random.choice(self.rows)"),
    "endless, by Python": _class("while True:\n    yield random.choice(self.rows)"),
    "endless, by a helper": _class("yield from draw(self.rows)"),
    "endless, by what it keeps": _class(
        "while True:\n    yield self.rows.integers(8)", held="np.random.default_rng()"
    ),
    "a queue": _class("while True:\n    yield self.rows.get()", held="queue.SimpleQueue()"),
}
_CASES = [
    *((source, False, name) for name, source in _WHOLE.items()),
    *((source, True, name) for name, source in _DIVIDED.items()),
    *((source, None, name) for name, source in _OPEN.items()),
]


@pytest.mark.parametrize(
    ("source", "divided"), [case[:2] for case in _CASES], ids=[f"{case[1]}: {case[2]}" for case in _CASES]
)
def test_a_stream_is_told_by_its_code_and_by_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, divided: bool | None
) -> None:
    loader = _loader(tmp_path, monkeypatch, source)
    assert read_loader(0, loader).sharded is divided
    prepared = DataLoader(loader.dataset, num_workers=2, worker_init_fn=_nothing)
    assert read_loader(0, prepared).sharded is (True if divided else None)


def _nothing(_worker: int) -> None:
    """Prepare a worker."""


def test_what_cannot_be_read_is_not_told() -> None:
    no_source: type[IterableDataset[int]] = type(
        "Made", (IterableDataset,), {"__module__": "nowhere", "__iter__": iter}
    )
    assert read_loader(0, DataLoader(no_source())).sharded is None
    assert read_loader(0, DataLoader([1, 2])).sharded is None  # type: ignore[arg-type]
