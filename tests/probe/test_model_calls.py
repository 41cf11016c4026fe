"""What a look at a called model tells of gradients: by its parameters, its mode, the source and names."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import torch

from perftui.ipc.facts import StackFacts
from perftui.trainer.probe.model_calls import Called, acts, gradients_off, told_of
from perftui.trainer.probe.thread_looks import ThreadLooks

pytestmark = pytest.mark.torch

_SOURCE = """\
import torch

def plain(model, batch):
    return model(batch)  # learns

def block(model, batch):
    # as it is written most
    with torch.no_grad():
        for one in batch:

            model(one)  # off
    return model(batch)  # learns

def nested(model, batch):
    with torch.autocast("cpu"), torch.inference_mode():
        with open("/dev/null") as file:
            outputs = model(  # off
                batch,  # off
            )
    with (
        torch.no_grad(),
        torch.autocast("cpu"),
    ):
        model(batch)  # off
    with torch.inference_mode(False):
        model(batch)  # learns
    with torch.set_grad_enabled(False):
        model(batch)  # off
    if batch: model(batch)  # learns
    with torch.no_grad(): model(batch)  # off

@torch.no_grad()
def decorated(model, batch):
    if batch:
        model(batch)  # off

@other
@torch.inference_mode()
def twice(model, batch):
    model(batch)  # off

def outer(model, batch):
    with torch.no_grad():
        def inner():
            return model(batch)  # learns
        return inner

class Runner:
    @torch.no_grad()
    def method(self, model, batch):
        return model(batch)  # off
"""


def _codes(code: CodeType) -> list[CodeType]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return [code, *(found for each in inner for found in _codes(each))]


def test_lines_without_gradients_are_told_by_the_source(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(_SOURCE)
    codes = _codes(compile(_SOURCE, str(file), "exec"))
    for number, line in enumerate(_SOURCE.splitlines(), 1):
        if not line.endswith(("# off", "# learns")):
            continue
        holding = [code for code in codes if code.co_name != "<module>" and number in _lines(code)]
        assert gradients_off(holding[-1], number) is line.endswith("# off"), line


def _lines(code: CodeType) -> range:
    numbers = [line for _, _, line in code.co_lines() if line]
    return range(code.co_firstlineno, max(numbers) + 1)


@pytest.mark.parametrize(
    ("names", "acting"),
    [
        (["forward", "collect_rollouts", "learn"], True),
        (["select_action", "main"], True),
        (["act", "run"], True),
        (["evaluate", "fit"], False),
        (["run_episode", "evaluate_policy"], False),
        (["step", "fit", "<module>"], False),
        (["exact", "factory", "interact"], False),
        (["a", "b", "c", "d", "e", "f", "rollout"], False),
    ],
)
def test_a_model_that_acts_is_told_by_the_functions_that_call_it(names: list[str], acting: bool) -> None:
    assert acts(names) is acting


_OFF = "def {name}(model):\n    with torch.no_grad():\n        model()\n"
_ON = "def {name}(model):\n    model()\n"


@pytest.mark.parametrize(
    ("called", "source", "name", "told"),
    [
        (Called(False, True, False), _ON, "step", "learns"),
        (Called(True, False, False), _ON, "step", "no gradient"),
        (Called(False, False, True), _ON, "run", "evaluated"),
        (Called(False, False, False), _ON, "step", "learns"),
        (Called(False, False, False), _OFF, "run", "evaluated"),
        (Called(False, True, False), _OFF, "step", "no gradient"),
        (Called(False, True, False), _OFF, "accuracy", "evaluated"),
        (Called(False, True, False), _OFF, "train_and_test", "no gradient"),
        (Called(False, False, True), _OFF, "rollout", "no gradient"),
        (Called(False, False, True), _ON, "rollout", "learns"),
    ],
)
def test_what_a_call_tells(tmp_path: Path, called: Called, source: str, name: str, told: str) -> None:
    """In evaluation mode from the first look on it may be trained so, as where statistics are kept still."""
    file = tmp_path / f"{name}.py"
    file.write_text(source.format(name=name))
    _, code = _codes(compile(file.read_text(), str(file), "exec"))
    assert told_of(called, [(code, len(source.splitlines()))]) == told


def _looked(work: Callable[[], Any], looks: int = 80) -> tuple[StackFacts, int]:
    """Return what looks found of something that a thread does over and over, and how many saw it evaluate."""
    ended, seen, evaluated = threading.Event(), ThreadLooks(), 0

    def loop() -> None:
        while not ended.is_set():
            work()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        while (seen.facts() or StackFacts(looks=0, areas={})).looks < looks:
            evaluated += seen.look(thread.ident or 0)
            time.sleep(0.002)
    finally:
        ended.set()
        thread.join()
    found = seen.facts()
    assert found is not None
    return found, evaluated


def _model() -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Linear(512, 512))


def test_a_teacher_leaves_no_gradient_and_a_student_learns() -> None:
    batch, teacher, student = torch.randn(64, 512), _model().requires_grad_(False), _model()
    found, evaluated = _looked(lambda: teacher(batch))
    assert found.no_gradient > 0.5 * found.areas["model"] > 0
    assert evaluated == 0
    found, evaluated = _looked(lambda: student(batch))
    assert (found.no_gradient, evaluated) == (0, 0)
    backbone = torch.nn.Sequential(teacher, torch.nn.Linear(512, 2))
    found, _ = _looked(lambda: backbone(batch))
    assert found.no_gradient > 0.2 * found.areas["model"], "the frozen part alone"


def test_a_model_that_was_trained_and_is_not_in_training_mode_is_evaluated() -> None:
    batch, model, turns = torch.randn(64, 512), _model(), [0]

    def work() -> None:
        turns[0] += 1
        model.train(turns[0] % 2 == 0)
        model(batch)

    found, evaluated = _looked(work, 300)
    assert 0 < evaluated < 0.9 * found.looks
    assert found.no_gradient == 0


def test_that_a_validation_goes_on_may_be_known_already() -> None:
    batch, teacher, seen = torch.randn(64, 512), _model().requires_grad_(False), ThreadLooks()
    ended = threading.Event()
    thread = threading.Thread(target=lambda: [teacher(batch) for _ in iter(ended.is_set, True)])
    thread.start()
    for _ in range(40):
        seen.look(thread.ident or 0, validating=True)
        time.sleep(0.001)
    ended.set()
    thread.join()
    found = seen.facts()
    assert found is not None
    assert (found.areas["model"] > 0, found.no_gradient) == (True, 0)
