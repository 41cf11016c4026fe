"""Steps through which the hooks sleep are counted as ever, on every shape of loop."""

import json
import sys
from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import FLAG_ASLEEP, FLAG_COMPILING, Goodbye, RankEvent, StepBatch
from tests.probe.conftest import INJECT, ROOMS
from tests.probe.shapes.own_flags import flags_of
from tests.probe.shapes.registry import SHAPES
from tests.probe.shapes.run_shapes import NAMES
from tests.probe.shapes.stopwatch import OwnStep

if TYPE_CHECKING:
    from tests.probe.conftest import Hub, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.long]

STRIDE = "2"
"""One step of so many, where the plan would wait for 64 and take one of 32."""


@pytest.fixture(scope="module")
def outcome(module_hub: "Hub") -> "Outcome":
    environment = module_hub.environment(PYTHONPATH=f"{INJECT}:{ROOMS}", PERFTUI_SHADOW=STRIDE)
    return module_hub.run([sys.executable, "-m", "tests.probe.shapes.run_shapes"], environment)


@pytest.fixture(scope="module")
def told(outcome: "Outcome") -> dict[str, list[OwnStep]]:
    lines = [json.loads(line) for line in outcome.stdout.splitlines()]
    return {line["shape"]: [OwnStep(**step) for step in line["steps"]] for line in lines}


def heard(outcome: "Outcome", name: str, column: str) -> list[int]:
    return [value for batch in outcome.of(StepBatch, NAMES.index(name)) for value in getattr(batch, column)]


@pytest.mark.parametrize("name", NAMES)
def test_counts_and_marks_are_those_of_the_script(
    outcome: "Outcome", told: dict[str, list[OwnStep]], name: str
) -> None:
    if name not in told:
        pytest.skip("torch.compile does not run here")
    own, expected, rank = told[name], SHAPES[name], NAMES.index(name)
    for column in ("samples", "micro_batches", "epoch"):
        assert heard(outcome, name, column) == [getattr(step, column) for step in own], column
    allowed = FLAG_ASLEEP | (FLAG_COMPILING if expected.compiles else 0)
    flags = [flag & ~allowed for flag in heard(outcome, name, "flags")]
    assert flags == [flags_of(step, expected.boundary) for step in own]
    validations = [event.text for event in outcome.of(RankEvent, rank) if event.event == "validation"]
    assert validations == [f"{batches} batches" for batches in expected.validations]
    assert [(bye.errors, bye.dropped) for bye in outcome.of(Goodbye, rank)] == [(0, 0)]


def test_plain_loops_have_slept_and_loops_without_loaders_have_not(
    outcome: "Outcome", told: dict[str, list[OwnStep]]
) -> None:
    asleep = {name: sum(bool(flag & FLAG_ASLEEP) for flag in heard(outcome, name, "flags")) for name in told}
    assert asleep["plain"] >= 6
    assert asleep["one iterator kept over epochs"] >= 5
    without = [name for name, own in told.items() if not any(step.waits for step in own)]
    assert without
    assert [asleep[name] for name in without] == [0] * len(without)
    assert outcome.stderr == ""
