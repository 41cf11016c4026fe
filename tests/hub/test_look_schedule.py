"""When the one window of a bounded look opens."""

import argparse

import pytest

from perftui.ipc.messages import FLAG_COMPILING, FLAG_EPOCH_START, FLAG_PROFILED
from perftui.ipc.profile_schedule import ProfileSchedule, schedule_in, schedule_of
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.look_schedule import RankNow, look_steps, steady
from perftui.tui.arguments import parser
from perftui.tui.verbs.starting import schedule_wanted


def _rows(count: int, *, first: int = 100, flags: int = 0) -> list[StepRecord]:
    return [
        StepRecord(
            step=number,
            end_ns=number * 10_000_000,
            wall_ns=10_000_000,
            wait_ns=0,
            forward_ns=0,
            backward_ns=0,
            optimizer_ns=0,
            cpu_ns=9_000_000,
            samples=-1,
            micro_batches=1,
            epoch=0,
            flags=flags,
        )
        for number in range(first, first + count)
    ]


def _rank(rows: list[StepRecord], *, own: bool = False) -> RankNow:
    return RankNow(rows, profiles_itself=own)


STEADY = _rank(_rows(20))


def _steps(past_s: float, limit_s: float | None = 30.0, step_s: float = 0.01, *ranks: RankNow) -> int:
    return look_steps(ranks or (STEADY,), past_s, limit_s, step_s=step_s, ahead=3)


def test_it_opens_half_way_and_not_near_the_end() -> None:
    assert _steps(14.9) == 0
    assert _steps(15.0) == 3
    assert _steps(22.5) == 3
    assert _steps(22.6) == 0


def test_without_a_limit_it_comes_after_half_a_minute_of_steps() -> None:
    assert _steps(29.9, None) == 0
    assert _steps(30.0, None) == 3
    assert _steps(3000.0, None) == 3, "a run that was not steady before"


def test_a_short_run_has_none() -> None:
    assert _steps(5.0, 9.9) == 0
    assert _steps(5.0, 10.0) == 3


def test_long_steps_get_fewer_and_none_where_they_do_not_fit() -> None:
    assert _steps(15.0, step_s=0.9) == 2, "no more than two seconds of steps"
    assert _steps(15.0, step_s=1.5) == 1
    assert _steps(15.0, step_s=2.6) == 1
    assert _steps(15.0, step_s=2.7) == 0, "three steps ahead and one recorded are more than 10.5 of 15 s"


@pytest.mark.parametrize(
    "rows",
    [
        _rows(14, first=0),
        [*_rows(19), *_rows(1, first=119, flags=FLAG_COMPILING)],
        _rows(20, flags=FLAG_PROFILED),
        [],
    ],
)
def test_an_unsteady_run_has_none_yet(rows: list[StepRecord]) -> None:
    assert not steady(_rank(rows))
    assert _steps(15.0, 30.0, 0.01, _rank(rows)) == 0
    assert _steps(15.0, 30.0, 0.01, STEADY, _rank(rows)) == 0, "all ranks must be steady"


def test_a_compilation_of_long_ago_and_new_epochs_are_no_matter() -> None:
    rows = [*_rows(5, flags=FLAG_COMPILING), *_rows(15, first=105, flags=FLAG_EPOCH_START)]
    assert steady(_rank(rows))


def test_a_script_that_profiles_itself_has_none() -> None:
    assert _steps(15.0, 30.0, 0.01, _rank(_rows(20), own=True)) == 0


def test_the_word_look() -> None:
    assert schedule_of(None, None, None, look=True) == ProfileSchedule(look=True)
    assert schedule_in({"PERFTUI_PROFILE": "look"}) == ProfileSchedule(look=True)
    both = schedule_in({"PERFTUI_PROFILE": "20:3,look,every=100:2"})
    assert both == ProfileSchedule(look=True, every_steps=100, steps=2)
    assert ProfileSchedule(look=True, most=0).wanted
    assert not ProfileSchedule().wanted


def _parsed(*options: str) -> argparse.Namespace:
    return parser().parse_args(["run", *options, "--", "true"])


@pytest.mark.parametrize(
    ("options", "look"),
    [
        (("--seconds", "30", "--json", "-"), True),
        (("--seconds", "30"), False),
        (("--json", "-"), False),
        (("--steps", "30", "--json", "-"), False),
        ((), False),
        (("--look",), True),
        (("--seconds", "30", "--json", "-", "--no-window"), False),
    ],
)
def test_a_bounded_run_whose_summary_is_wanted_has_a_look(
    options: tuple[str, ...], look: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PERFTUI_PROFILE", raising=False)
    wanted = schedule_wanted(_parsed(*options), headless=True)
    assert (wanted is not None and wanted.look) is look


def test_other_windows_and_a_dashboard_leave_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded = ("--seconds", "30", "--json", "-")
    monkeypatch.delenv("PERFTUI_PROFILE", raising=False)
    assert schedule_wanted(_parsed(*bounded), headless=False) is None
    every = schedule_wanted(_parsed(*bounded, "--profile-every", "500:3"), headless=True)
    assert every == ProfileSchedule(every_steps=500)
    monkeypatch.setenv("PERFTUI_PROFILE", "20:3")
    assert schedule_wanted(_parsed(*bounded), headless=True) is None
