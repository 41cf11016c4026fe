"""Which of the script's lines come before the model's call, after it, or behind the backward."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import cast

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from perftui.ipc.facts import StackFacts
from perftui.trainer.probe.call_order import CallOrder, Chain
from perftui.trainer.probe.thread_looks import ThreadLooks

pytestmark = pytest.mark.torch

_MODEL = torch.nn.Linear(2, 2)
_FILE = "train.py"


def _chain(*lines: int) -> Chain:
    """Functions that begin at lines 1, 101, 201, each called by the one before it."""
    return tuple((_FILE, 100 * depth + 1, line) for depth, line in enumerate(lines))


def _told(
    own: Chain,
    models: tuple[Chain, ...] = (_chain(20),),
    fetches: tuple[Chain, ...] = (),
    backwards: tuple[Chain, ...] = (_chain(30),),
) -> dict[str, int]:
    order = CallOrder()
    for chain in models:
        order.note_call(chain, _MODEL)
    for chain in fetches:
        order.note("fetch", chain)
    for chain in backwards:
        order.note("backward", chain)
    order.count(own)
    return order.told()


@pytest.mark.parametrize(
    ("line", "order"),
    [(19, "before"), (20, None), (21, "after"), (29, "after"), (30, "after"), (31, "behind")],
)
def test_lines_of_the_loop(line: int, order: str | None) -> None:
    assert _told(_chain(line)) == ({order: 1} if order else {})


def test_lines_below_a_line_of_the_loop() -> None:
    assert _told(_chain(21, 140, 250)) == {"after": 1}
    assert _told(_chain(12, 140, 250)) == {"before": 1}
    assert _told(_chain(20, 140)) == {}, "at the very line of the call"


def test_a_step_in_a_function_of_its_own() -> None:
    step = {"models": (_chain(20, 120),), "backwards": (_chain(20, 130),), "fetches": (_chain(10),)}
    assert _told(_chain(20, 125), **step) == {"after": 1}
    assert _told(_chain(20, 115), **step) == {"before": 1}
    assert _told(_chain(15, 140), **step) == {"before": 1}
    assert _told(_chain(25), **step) == {"behind": 1}


def test_a_loss_in_a_function_of_its_own() -> None:
    parts = {"models": (_chain(20, 120),), "backwards": (_chain(22),)}
    assert _told(_chain(20, 125), **parts) == {"after": 1}
    assert _told(_chain(21), **parts) == {"after": 1}


def test_a_fetch_at_the_foot_of_the_loop_begins_the_next_batch() -> None:
    foot = {"fetches": (_chain(40),)}
    assert _told(_chain(41), **foot) == {"before": 1}
    assert _told(_chain(35), **foot) == {"behind": 1}
    assert _told(_chain(40, 110), **foot) == {"before": 1}, "what maps over the loader"


def test_a_warm_up_above_the_loop_is_another_loop() -> None:
    models, fetches = (_chain(5), _chain(20)), (_chain(3), _chain(15))
    assert _told(_chain(16), models=models, fetches=fetches) == {"before": 1}
    assert _told(_chain(21), models=models, fetches=fetches) == {"after": 1}


def test_where_no_model_was_seen_the_order_is_not_known() -> None:
    assert _told(_chain(19), models=()) == {}
    assert _told(_chain(19, 120), models=(_chain(20, 110),)) == {"before": 1}
    assert _told((("other.py", 1, 19),)) == {}
    assert _told(()) == {}


@pytest.mark.parametrize(
    "module",
    [torch.nn.MSELoss(), torch.nn.Linear(2, 2).requires_grad_(False), torch.nn.Linear(2, 2).eval(), None],
    ids=["a loss", "a teacher", "a validation", "no module"],
)
def test_what_is_not_trained_marks_nothing(module: object) -> None:
    order = CallOrder()
    order.note_call(_chain(20), module)
    order.count(_chain(21))
    assert order.told() == {}
    assert order.wants(_chain(20)), "it may be trained at another look"
    for _ in range(20):
        order.note_call(_chain(20), module)
    assert not order.wants(_chain(20))


def test_what_is_kept_has_a_bound() -> None:
    order = CallOrder()
    for line in range(3000):
        order.note("backward", _chain(1, line))
        order.count(_chain(1, line))
        if order.wants(_chain(line, 1)):
            order.note_call(_chain(line, 1), None)
    assert not order.wants(_chain(3001, 1))
    assert order.told() == {}


class _Rows(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.randn(256)


_LINES = """
def prepare(batch):
    return sum(number * number for number in range(40_000)) * 0 + batch


def match(outputs):
    return sum(number * number for number in range(40_000)) * 0 + outputs


def train(loader, ended):
    for batch in loader:
        if ended.is_set():
            return
        {first}
        outputs = model({argument})
        {second}
        loss(outputs, outputs.detach() + 1).backward()
"""


def _looked(tmp_path: Path, **lines: str) -> StackFacts:
    file = tmp_path / "train.py"
    file.write_text(_LINES.format(**{"first": "pass", "second": "pass", "argument": "batch", **lines}))
    code: CodeType = compile(file.read_text(), str(file), "exec")
    names: dict[str, object] = {"model": torch.nn.Linear(256, 256), "loss": torch.nn.MSELoss()}
    exec(code, names)
    train = cast(Callable[[object, threading.Event], None], names["train"])
    loader = DataLoader(_Rows(), batch_size=16)
    ended, seen = threading.Event(), ThreadLooks()

    def loop() -> None:
        while not ended.is_set():
            train(loader, ended)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        while (seen.facts() or StackFacts(looks=0, areas={})).looks < 200:
            seen.look(thread.ident or 0)
            time.sleep(0.001)
    finally:
        ended.set()
        thread.join()
    found = seen.facts()
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("lines", "order"),
    [
        ({"first": "batch = prepare(batch)"}, "before"),
        ({"second": "outputs = match(outputs)"}, "after"),
        ({"second": "loss(match(outputs), outputs.detach() + 1)"}, "after"),
    ],
)
def test_a_loop_that_is_looked_at(tmp_path: Path, lines: dict[str, str], order: str) -> None:
    found = _looked(tmp_path, **lines)
    assert found.order.get(order, 0) > found.areas["script"] / 2


def test_an_argument_of_the_call_is_of_neither(tmp_path: Path) -> None:
    found = _looked(tmp_path, argument="\n            prepare(batch),\n        ")
    assert found.areas["script"] > 0
    assert found.order.get("after", 0) <= found.areas["script"] / 4
