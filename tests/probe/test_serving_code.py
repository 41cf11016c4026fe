"""Which code of a script's makes samples and batches, told before any look."""

import functools
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

from perftui.trainer.probe.loader_reading import read_loader
from perftui.trainer.probe.serving_code import called_at
from tests.probe.generator_scripts import HEAD, loader_of

pytestmark = pytest.mark.torch

TEXT = """
import functools
from functools import lru_cache
from installed_rows import Installed
def wrapped_by(function):
    @functools.wraps(function)
    def around(*args):
        return function(*args)
    return around
class Items(Rows):
    def __getitem__(self, index):
        return index
class Many(Items):
    def __getitems__(self, indices):
        return indices
class Stream(IterableDataset):
    def __iter__(self):
        yield from range(8)
class Match:
    def __call__(self, rows):
        return rows
    def by(self, rows):
        return rows
def together(rows):
    return rows
def wrapped(rows, how):
    return rows
class Decorated(Items):
    @torch.no_grad()
    @wrapped_by
    def __getitem__(self, number):
        return number
class FromInstalled(Installed):
    def __getitem__(self, index):
        return index
@torch.no_grad()
def unlearned(rows):
    return rows
class Trap(Items):
    def __getattr__(self, name):
        raise SystemExit(name)
"""
CASES = {
    "Items()": ("    def __getitem__(self, index):", "Items.__getitem__"),
    "Trap()": ("    def __getitem__(self, index):", "Items.__getitem__"),
    "Many()": ("    def __getitems__(self, indices):", "Many.__getitems__"),
    "Stream()": ("    def __iter__(self):", "Stream.__iter__"),
    "Decorated()": ("    @torch.no_grad()", "Decorated.__getitem__"),
    "FromInstalled(0)": ("    def __getitem__(self, index):", "FromInstalled.__getitem__"),
    "Installed(Subset(Items(), [0]))": ("    def __getitem__(self, index):", "Items.__getitem__"),
    "Installed([1, 2])": ("", ""),
    "Subset(ConcatDataset([Items()]), [0, 1])": ("    def __getitem__(self, index):", "Items.__getitem__"),
    "torch.utils.data.TensorDataset(torch.zeros(4))": ("", ""),
    "list(range(9))": ("", ""),
}
COLLATES = {
    "None": ("", ""),
    "together": ("def together(rows):", "together"),
    "unlearned": ("@torch.no_grad()", "unlearned"),
    "lru_cache(together)": ("def together(rows):", "together"),
    "partial(wrapped, how=1)": ("def wrapped(rows, how):", "wrapped"),
    "Match()": ("    def __call__(self, rows):", "Match.__call__"),
    "Match().by": ("    def by(self, rows):", "Match.by"),
    "torch.stack": ("", ""),
}

INSTALLED = """
class Installed:
    def __init__(self, dataset):
        self.dataset = dataset
    def __len__(self):
        return 2
    def __getitem__(self, index):
        return self.dataset[index]
    def __getitems__(self, indices):
        return [self[index] for index in indices]
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "installed_rows.py").write_text(INSTALLED)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "installed_rows", raising=False)


def _checked(told: str, line: str, name: str, where: Path) -> None:
    if not name:
        assert told == ""
        return
    at, _, found = told.partition(" ")
    file, _, number = at.partition(":")
    lines = (where / file).read_text().splitlines()
    assert (lines[int(number) - 1], found) == (line, name)
    assert int(number) > len(HEAD.splitlines())


@pytest.mark.parametrize("dataset", CASES)
def test_what_is_asked_for_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dataset: str) -> None:
    monkeypatch.chdir(tmp_path)
    loader: DataLoader[Any] = loader_of(tmp_path, monkeypatch, f"{TEXT}loader = DataLoader({dataset}, 2)")
    facts = read_loader(0, loader)
    _checked(facts.fetch_at, *CASES[dataset], tmp_path)
    assert facts.collate_at == ""


@pytest.mark.parametrize("collate", COLLATES)
def test_what_puts_them_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collate: str) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"{TEXT}loader = DataLoader(Items(), 2, collate_fn={collate})"
    facts = read_loader(0, loader_of(tmp_path, monkeypatch, text))
    _checked(facts.collate_at, *COLLATES[collate], tmp_path)


def _any(worker: int) -> int:
    return worker


class _Body:
    def open_it(self, worker: int) -> int:
        return worker


def test_where_a_function_begins_however_it_is_handed_over() -> None:
    first = _Body.open_it.__code__.co_firstlineno
    method = _Body().open_it
    for function in (method, functools.partial(method), functools.wraps(method)(_any)):
        place = called_at(function)
        assert place.partition(":")[2].startswith(f"{first} ")
    assert called_at(functools.reduce) == ""
    assert called_at(textwrap.dedent) == "", "the standard library's is nobody's own"
    assert called_at(None) == ""
