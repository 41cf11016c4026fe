"""Logging by lines of the script's own: what is written, and what is computed to be written."""

from dataclasses import replace

import pytest

from perftui.ipc.facts import StackPlace
from perftui.trainer.diagnosis.signals import RankSignals

from .made import found, lead, of_parts, rank, run, stacks


def test_what_is_logged_beside_python_leads_by_its_part() -> None:
    line = StackPlace(area="logging", at="train.py:34 log_metrics", line="json.dumps(", count=66)
    made = of_parts(
        stacks(123, line, script=14, logging=66, model=12, backward=31), other=0.62, forward=0.1, wait=0.06
    )
    finding = lead(run(made))
    assert (finding.code, finding.severity) == ("pause.logging", "critical")
    assert finding.share == pytest.approx(0.62 * 66 / 80)
    assert "cpu.python" not in found(run(made))


def _drawn(*lines: tuple[str, str, int], step_ms: float = 0.5) -> RankSignals:
    """A loop of half a millisecond, two thirds of which lie outside of the model; looks by area and place."""
    places = [StackPlace(area=area, at=at, line=None, count=count) for area, at, count in lines]
    areas: dict[str, int] = {}
    for place in places:
        areas[place.area] = areas.get(place.area, 0) + place.count
    areas["backward"] = areas.get("backward", 0) + 100 - sum(areas.values())
    seen = stacks(100, *places, **areas)
    made = of_parts(seen, wait=0.15, other=0.64, optimizer=0.03, forward=0.08)
    return replace(made, step_ms=rank(step_ms=step_ms).step_ms)


def test_lines_that_make_what_is_written_count_as_logging() -> None:
    """A bar of a third of a millisecond: too short for Python of the loop's own, not for logging."""
    made = _drawn(("script", "train.py:24 draw", 40), ("logging", "train.py:26 draw", 12))
    finding = lead(run(made))
    assert (finding.code, finding.severity) == ("pause.logging", "critical")
    assert finding.share == pytest.approx(0.64)
    apart = _drawn(("script", "train.py:24 score", 40), ("logging", "train.py:26 draw", 12))
    assert found(run(apart)).keys().isdisjoint({"pause.logging", "cpu.python"})


@pytest.mark.parametrize(("at_the_model", "seen"), [(4, True), (52, False)])
def test_a_function_that_writes_of_the_model_is_none_that_runs_it(at_the_model: int, seen: bool) -> None:
    lines = ("script", "train.py:24 draw", 40), ("logging", "train.py:26 draw", 12)
    made = _drawn(*lines, ("model", "train.py:24 draw", at_the_model))
    assert ("pause.logging" in found(run(made))) is seen


def test_the_loop_itself_does_not_become_logging_by_its_print() -> None:
    lines = ("script", "train.py:40 main", 40), ("logging", "train.py:42 main", 12)
    trains = _drawn(*lines, ("backward", "train.py:37 main", 20), step_ms=7.0)
    assert "pause.logging" not in found(run(trains))
    assert lead(run(trains)).code == "cpu.python"


@pytest.mark.parametrize(("step_ms", "seen"), [(0.15, False), (0.17, True)])
def test_logging_at_its_floor(step_ms: float, seen: bool) -> None:
    made = _drawn(("logging", "train.py:26 draw", 40), step_ms=step_ms)
    assert ("pause.logging" in found(run(made))) is seen


@pytest.mark.parametrize(
    ("script", "written", "codes"),
    [
        (20, 20, {"cpu.python"}),  # 0.2 each, of a threshold of 0.25: only together
        (26, 14, {"cpu.python"}),
        (14, 26, {"pause.logging"}),
        (11, 11, set[str]()),  # 0.22 together
    ],
)
def test_code_and_output_that_pass_the_threshold_only_together_are_told_as_one(
    script: int, written: int, codes: set[str]
) -> None:
    other = (script + written) / 100
    areas = {"script": script, "logging": written, "backward": 100 - script - written}
    made = of_parts(stacks(100, **areas), wait=0.1, other=other, optimizer=0.05, forward=0.1)
    told = found(run(replace(made, step_ms=rank(step_ms=8.0).step_ms)))
    assert {"cpu.python", "pause.logging"} & told.keys() == codes
    if script == written == 20:
        finding = told["cpu.python"]
        assert finding.share == pytest.approx(0.4)
        assert finding.severity == "warning"
        assert "(output among them) for 40 %" in finding.sentence
        assert finding.unsure is not None
