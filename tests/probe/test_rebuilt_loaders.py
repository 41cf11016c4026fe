"""Settings of loaders that are built anew, by a framework or by the script, while the training goes on."""

from typing import TYPE_CHECKING

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from perftui.trainer.probe.loader_settings import LoaderBook, of_the_script

from .altered_scripts import trained
from .training_scripts import PREAMBLE

if TYPE_CHECKING:
    from .conftest import Hub

pytestmark = pytest.mark.torch

PACKAGES = "/opt/python/lib/python3.11/site-packages"
BUILT = [("/work/data.py", 10), ("/work/model.py", 4)]
MAIN = [("/work/train.py", 30), ("<frozen runpy>", 88)]


def through(*lines: int) -> list[tuple[str, int]]:
    """Return calls within a framework."""
    return [(f"{PACKAGES}/framework/loop.py", line) for line in lines]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        pytest.param(
            BUILT + through(5, 7) + MAIN, BUILT + through(5, 90, 8) + MAIN, True, id="a-hook-of-the-script"
        ),
        pytest.param(BUILT + MAIN, [("/work/data.py", 11), *BUILT[1:], *MAIN], False, id="two-lines"),
        pytest.param(BUILT + MAIN, [*BUILT, ("/work/train.py", 31)], False, id="two-calls"),
        pytest.param(
            BUILT + through(5) + MAIN, BUILT + through(5) + [("/work/train.py", 31)], False, id="two-runs"
        ),
        pytest.param(through(5, 7) + MAIN, through(6, 7) + MAIN, False, id="the-framework-builds-two"),
        pytest.param(through(5, 7), through(5, 8), False, id="nothing-of-the-script"),
    ],
)
def test_a_place_of_the_script(
    first: list[tuple[str, int]], second: list[tuple[str, int]], same: bool
) -> None:
    assert (of_the_script(first) == of_the_script(second)) is same


@pytest.mark.parametrize(
    ("with_grad", "known_before", "replaced"),
    [(True, False, [0]), (False, False, []), (True, True, [])],
    ids=["replaced", "a-validation", "side-by-side"],
)
def test_a_loader_that_another_one_has_replaced(
    with_grad: bool, known_before: bool, replaced: list[int]
) -> None:
    book = LoaderBook({"loader.num_workers": 2, "loader[1].pin_memory": True})
    first = DataLoader(TensorDataset(torch.zeros(2)))
    book.key(first)
    second = DataLoader(TensorDataset(torch.zeros(2)))
    if known_before:
        book.key(second)
    with torch.set_grad_enabled(with_grad):
        book.note(first)
    assert book.replaced(book.key(first)) == []
    assert book.replaced(book.note(second)) == replaced


FRAMEWORK = """
def fit(hook, step):
    loader = hook()
    for epoch in range(3):
        if epoch:
            loader = hook()
        for batch in loader:
            step(batch)
"""


@pytest.mark.slow
def test_a_framework_that_asks_for_the_loader_in_each_epoch(module_hub: "Hub") -> None:
    packages = module_hub.work / "site-packages"
    packages.mkdir(exist_ok=True)
    (packages / "some_framework.py").write_text(FRAMEWORK)
    script = f"""{PREAMBLE}
import json, sys
sys.path.insert(0, {str(packages)!r})
import some_framework
workers = []
def hook():
    loader = DataLoader(Data(16), batch_size=4)
    workers.append(loader.num_workers)
    return loader
some_framework.fit(hook, step)
print(json.dumps(workers))
"""
    said, told = trained(module_hub, script, {"loader.num_workers": 1})
    assert said == [1, 1, 1]
    assert (told.failed, told.settings["loader.num_workers"]) == ({}, 1)
    assert "loader[1].num_workers" not in told.settings


@pytest.mark.slow
def test_a_loader_of_a_second_stage_is_not_the_one_that_was_altered(module_hub: "Hub") -> None:
    script = f"""{PREAMBLE}
import json
for batch in DataLoader(Data(16), batch_size=4):
    step(batch)
for batch in DataLoader(Data(16), batch_size=2):
    step(batch)
print(json.dumps("done"))
"""
    _, told = trained(module_hub, script, {"loader.num_workers": 1})
    assert "replaced by one that is built elsewhere" in told.failed["loader.num_workers"]
    assert "loader.num_workers" not in told.settings
    assert told.settings["loader[1].num_workers"] == 0
