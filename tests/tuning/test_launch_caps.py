"""How long a launch of a search may take: what is no step does not use up its time."""

import time
from types import SimpleNamespace

import msgspec
import pytest

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.messages import FLAG_COMPILING
from perftui.ipc.places import RunPlaces
from perftui.trainer.tuning.enough import usual_seconds
from perftui.trainer.tuning.search.carry_out import caps_for
from tests.tuning.made_updates import history, rank_view, update
from tests.tuning.scripted_hub import follow, places

from .made_search import state_with

__all__ = ["places"]

CAPS = msgspec.structs.replace(caps_for(state_with()), fewest_seconds=0.0)
"""Of an original whose steps take 135 ms: some 40 s of steps."""


def steps(pull: int, wall_ms: float, first_flags: int = 0) -> Update:
    first = 10 * pull
    walls = [wall_ms + 6.0 * (index // 10 % 2) for index in range(first, first + 10)]
    flags = [first_flags if index == 0 else 0 for index in range(first, first + 10)]
    return update([rank_view(0, first + 10)], [history(0, first, walls, flags)])


@pytest.mark.parametrize(
    ("pause_s", "before_pull", "flags"),
    [(45.0, 1, FLAG_COMPILING), (60.0, 5, 0), (45.0, 1, 0)],
    ids=["compiles its second shape", "validates after 50 steps", "warms up"],
)
def test_time_that_passes_between_steps_is_not_the_launch_s(
    places: RunPlaces, monkeypatch: pytest.MonkeyPatch, pause_s: float, before_pull: int, flags: int
) -> None:
    passed_s = 0.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed_s, sleep=time.sleep)
    monkeypatch.setattr("perftui.trainer.tuning.measure.time", clock)

    def script(pull: int) -> Update:
        nonlocal passed_s
        passed_s = pause_s if pull >= before_pull else 0.0
        return steps(pull, 100.0, flags)

    followed, _ = follow(places, script, caps=CAPS)
    assert (followed.end, followed.reason) == ("enough", None)
    assert followed.assessment.steady_steps >= 60


@pytest.mark.parametrize("long_steps", [(), (30, 49)])
def test_a_step_with_a_checkpoint_in_it_does_not_use_up_the_time(long_steps: tuple[int, ...]) -> None:
    walls_s = [40.0 if index in long_steps else 0.1 for index in range(60)]
    assert usual_seconds(walls_s) == pytest.approx(5.7)


def test_a_change_that_makes_steps_many_times_longer_is_given_up(places: RunPlaces) -> None:
    followed, _ = follow(places, lambda pull: steps(pull, 5000.0), caps=CAPS)
    assert followed.end == "failed"
    assert followed.reason == "its time was over after 10 steps: 60 steady ones are needed beside the warm-up"


def test_the_time_on_the_clock_stays_limited(places: RunPlaces) -> None:
    """However little of it steps take: between two of them a script may do anything."""
    caps = msgspec.structs.replace(CAPS, seconds=1.0)

    def script(pull: int) -> Update:
        return update([rank_view(0, pull + 1)], [history(0, pull, [1.0])])

    followed, _ = follow(places, script, caps=caps)
    assert followed.end == "failed"
    assert followed.reason is not None
    assert followed.reason.startswith("its time was over after ")
