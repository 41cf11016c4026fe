"""Following a launch: what a hub serves, step by step, and when it is enough.

The hub in here is the real pair of sockets in a thread; what it serves is written down in each test, one
`Update` a pull.
"""

import msgspec
import pytest

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.ledger_records import Launch, Outcome
from perftui.ipc.messages import FLAG_COMPILING, FLAG_EPOCH_START, FLAG_PROFILED
from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import ExitRecord
from perftui.ipc.settings import SettingValue
from perftui.ipc.view import HostView, RankHistory, RunState
from perftui.trainer.tuning.collector import Collector
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.reach import Prospect
from perftui.trainer.tuning.trials import launch_of
from tests.tuning.made_updates import history, rank_view, update
from tests.tuning.scripted_hub import follow, places

__all__ = ["places"]


def walls(first: int, count: int) -> list[float]:
    return [100.0 + ((first + index) * 7 % 5) for index in range(count)]


def growing(
    pull: int, each: int, settings: dict[str, SettingValue] | None = None, state: RunState = "training"
) -> Update:
    first = pull * each
    return update([rank_view(0, first + each, settings)], [history(0, first, walls(first, each))], state)


def test_a_calm_launch_is_enough_after_its_steady_steps(places: RunPlaces) -> None:
    followed, states = follow(places, lambda pull: growing(pull, 20, {"loader.num_workers": 2}))
    assert followed.end == "enough"
    assert not followed.over
    assert 70 <= len(followed.steps_s) <= 160
    estimate = followed.assessment.estimate
    assert estimate is not None
    assert estimate.log_step_s == pytest.approx(-2.283, abs=0.002)
    assert states == ["warming", "measuring"]
    assert followed.first_step_s is not None


def restless(pull: int) -> Update:
    """Ten steps of 100 ms, ten of 106 and so on: known to some 1 % after a hundred, however many come."""
    first = pull * 20
    wall_ms = [100.0 + 6.0 * (index // 10 % 2) for index in range(first, first + 20)]
    return update([rank_view(0, first + 20, {"loader.num_workers": 0})], [history(0, first, wall_ms)])


def test_a_restless_launch_goes_on_to_its_cap(places: RunPlaces) -> None:
    followed, _ = follow(places, restless, caps=Caps(steps=300, fewest_seconds=0.0))
    assert followed.end == "enough"
    assert len(followed.steps_s) == 300
    assert followed.assessment.estimate is not None
    assert 0.007 < followed.assessment.estimate.se < 0.015


@pytest.mark.parametrize("steps_in_time", [True, False])
def test_the_limit_is_kept_in_time_on_the_clock_start_and_warm_up_included(
    places: RunPlaces, steps_in_time: bool
) -> None:
    """Whatever the launch is known to by then, and however few steps it has made."""

    def script(pull: int) -> Update:
        return restless(pull) if steps_in_time else restless(0)

    caps = Caps(steps=10**6, fewest_seconds=600.0, wall_seconds=1.5)
    followed, _ = follow(places, script, caps=caps)
    assert 1.5 <= followed.elapsed_s < 2.5
    assert followed.ended_by == "limit"
    assert followed.end == ("enough" if steps_in_time else "failed")
    if not steps_in_time:
        assert followed.reason is not None
        assert followed.reason.startswith("its time was over after 20 steps")


def test_a_start_that_takes_all_of_the_time_ends_with_it(places: RunPlaces) -> None:
    followed, states = follow(places, lambda _: update([], []), caps=Caps(wall_seconds=0.5))
    assert (followed.end, followed.reason) == ("failed", "no step within 0 s of its start")
    assert states == ["starting"]


@pytest.mark.parametrize(("bound", "ended_by"), [(1.1, "lost"), (None, "limit")])
def test_a_launch_of_which_no_verdict_can_come_ends_before_its_limit(
    places: RunPlaces, bound: float | None, ended_by: str
) -> None:
    """But where the change may win obviously on a host that is quiet, it goes on."""

    def wild(pull: int) -> Update:
        first = pull * 20
        wall_ms = [100.0 * (1 + 2 * (index // 10 % 2)) for index in range(first, first + 20)]
        quiet = HostView(name="h", age_s=0.0, cpu_busy=1.0, run_busy=1.0)
        return update([rank_view(0, first + 20)], [history(0, first, wall_ms)], host=quiet)

    caps = Caps(steps=10**6, fewest_seconds=0.0, ample_seconds=0.3, wall_seconds=3.0)
    followed, _ = follow(places, wild, caps=caps, prospect=Prospect(2.0, bound))
    assert (followed.end, followed.ended_by) == ("enough", ended_by)
    assert (followed.elapsed_s < 3.0) is (ended_by == "lost")
    record = ExitRecord(exit_code=0, ended_unix=1.0, outcome="stopped", stopped_by="relaunch")
    measured = launch_of("A", "r", {}, followed, record, 0.0, 0.0)
    assert (measured.ended_by, measured.wall_s) == (ended_by, followed.elapsed_s)


def test_after_ample_time_a_launch_need_only_be_good_enough_for_a_verdict(places: RunPlaces) -> None:
    followed, _ = follow(places, restless, caps=Caps(steps=300, fewest_seconds=0.0, ample_seconds=0.2))
    assert followed.end == "enough"
    assert 80 <= len(followed.steps_s) < 200
    assert followed.se_wanted == 0.015


@pytest.mark.parametrize(("suffices", "steps"), [(0.04, range(70, 160)), (0.001, range(300, 301))])
def test_what_a_launch_promises_may_make_it_enough(places: RunPlaces, suffices: float, steps: range) -> None:
    asked: list[int] = []

    def promise(collector: Collector) -> float:
        asked.append(len(collector.steps_s()))
        return suffices

    followed, _ = follow(places, restless, caps=Caps(steps=300, fewest_seconds=0.0), promise=promise)
    assert followed.end == "enough"
    assert len(followed.steps_s) in steps
    assert asked
    assert followed.se_wanted == max(suffices, 0.007)


def test_blocks_follow_the_workers_in_force(places: RunPlaces) -> None:
    followed, _ = follow(places, lambda pull: growing(pull, 30, {"loader.num_workers": 16}))
    assert followed.block == 16


def test_a_launch_that_ends_by_itself_with_enough_steps_is_a_good_one(places: RunPlaces) -> None:
    def script(pull: int) -> Update:
        return growing(pull, 90, state="finished" if pull == 1 else "training")

    noisy = Caps(fewest_seconds=3600.0, seconds=7200.0)
    followed, _ = follow(places, script, caps=noisy)
    assert followed.end == "enough"
    assert followed.over
    assert len(followed.steps_s) == 180


@pytest.mark.parametrize("state", ["failed", "lost"])
def test_a_launch_that_breaks_down_is_none_however_many_steps_it_made(
    places: RunPlaces, state: RunState
) -> None:
    def script(pull: int) -> Update:
        told = growing(pull, 90, state=state if pull == 1 else "training")
        header = msgspec.structs.replace(told.view.header, message="killed by signal 9")
        return msgspec.structs.replace(told, view=msgspec.structs.replace(told.view, header=header))

    followed, _ = follow(places, script, caps=Caps(fewest_seconds=3600.0, seconds=7200.0))
    assert (followed.end, followed.over) == ("failed", True)
    assert followed.reason == "it broke down by itself after step 179: killed by signal 9"
    assert followed.assessment.estimate is not None


@pytest.mark.parametrize("outcome", ["failed", "lost", "oom_host", "oom_gpu", "hung"])
def test_a_launch_that_breaks_down_after_it_was_measured_is_none_either(
    places: RunPlaces, outcome: Outcome
) -> None:
    followed, _ = follow(places, lambda pull: growing(pull, 20))
    assert followed.end == "enough"

    def launched(outcome: Outcome, stopped_by: str | None = None) -> Launch:
        record = ExitRecord(
            exit_code=1, ended_unix=1.0, outcome=outcome, stopped_by=stopped_by, last_lines=["Killed"]
        )
        return launch_of("B", "r", {}, followed, record, 0.0, 0.0)

    broken = launched(outcome)
    assert (broken.outcome, broken.log_step_s, broken.se) == (outcome, None, None)
    assert broken.note is not None
    assert broken.note.startswith("it broke down by itself after step ")
    assert broken.note.endswith(": Killed")
    good = launched("stopped", "relaunch")
    assert good.log_step_s is not None
    assert (good.note, good.se_wanted) == (None, 0.007)


def test_a_launch_that_ends_too_soon_fails_with_the_count(places: RunPlaces) -> None:
    def script(pull: int) -> Update:
        return growing(pull, 15, state="finished" if pull >= 1 else "training")

    followed, _ = follow(places, script)
    assert (followed.end, followed.over) == ("failed", True)
    assert followed.reason is not None
    assert "after 30 steps: 60 steady ones are needed" in followed.reason


def test_death_before_the_first_step_is_told_in_the_hub_s_words(places: RunPlaces) -> None:
    def script(pull: int) -> Update:
        return update([], [], "failed" if pull >= 1 else "starting", "ended (exit code 1): no such file")

    followed, states = follow(places, script)
    assert followed.end == "failed"
    assert followed.reason == "ended (exit code 1): no such file"
    assert states == ["starting"]


def test_a_setting_that_could_not_be_applied_ends_the_trial(places: RunPlaces) -> None:
    def script(pull: int) -> Update:
        failed = {"loader.num_workers": "the dataset cannot be sent to a worker"}
        return update([rank_view(0, 5, {}, failed)], [history(0, 0, walls(0, 5))])

    followed, _ = follow(places, script, {"loader.num_workers": 2})
    assert followed.end == "failed"
    assert followed.reason == (
        "loader.num_workers=2 could not be applied: the dataset cannot be sent to a worker"
    )


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"loader.num_workers": 0}, "loader.num_workers=2 was asked for, 0 is in force"),
        ({}, "loader.num_workers=2 could not be read back from the training"),
    ],
)
def test_a_setting_that_is_not_in_force_ends_the_trial(
    places: RunPlaces, settings: dict[str, SettingValue], reason: str
) -> None:
    followed, _ = follow(places, lambda pull: growing(pull, 20, settings), {"loader.num_workers": 2})
    assert (followed.end, followed.reason) == ("failed", reason)


def test_step_cap_ends_a_launch_that_stays_noisy(places: RunPlaces) -> None:
    def script(pull: int) -> Update:
        first = pull * 60
        wild = [100.0 * (1 + 2 * ((index * index) % 7 == 1)) for index in range(first, first + 60)]
        return update([rank_view(0, first + 60)], [history(0, first, wild)])

    followed, _ = follow(places, script, caps=Caps(steps=240, fewest_seconds=0.0))
    assert followed.end == "enough"
    assert 240 <= len(followed.steps_s) <= 300
    estimate = followed.assessment.estimate
    assert estimate is not None
    assert estimate.se > 0.007


@pytest.mark.parametrize(
    ("caps", "steps", "reason"),
    [
        (Caps(start_seconds=0.3), 0, "no step within 0 s of its start"),
        (Caps(silent_seconds=0.3), 5, "no new step for"),
    ],
)
def test_a_launch_that_hangs_is_given_up(places: RunPlaces, caps: Caps, steps: int, reason: str) -> None:
    parts = [history(0, 0, walls(0, steps))] if steps else []
    followed, _ = follow(places, lambda _: update([rank_view(0, steps)], parts), caps=caps)
    assert followed.end == "failed"
    assert followed.reason is not None
    assert followed.reason.startswith(reason)


def test_cancel_is_heard_within_a_launch(places: RunPlaces) -> None:
    seen: list[int] = []

    def script(pull: int) -> Update:
        seen.append(pull)
        return growing(pull, 1)

    followed, _ = follow(places, script, cancelled=lambda: len(seen) > 2)
    assert followed.end == "cancelled"
    assert followed.reason is None


def test_slowest_rank_counts_once_all_have_reported() -> None:
    collector = Collector()
    collector.take(update([rank_view(0, 3), rank_view(1, 0)], [history(0, 0, [10.0, 10.0, 10.0])]))
    assert collector.steps_s() == []
    collector.take(update([], [history(1, 0, [30.0, 5.0])]))
    assert collector.steps_s() == [0.03, 0.01]
    assert collector.newest_step() == 2


def test_unusual_steps_stay_out_and_epoch_starts_stay_in() -> None:
    flags = [FLAG_COMPILING, 0, FLAG_PROFILED, FLAG_EPOCH_START]
    collector = Collector()
    collector.take(update([rank_view(0, 4)], [history(0, 0, [90.0, 10.0, 70.0, 40.0], flags)]))
    assert collector.steps_s() == [0.01, 0.04]


def test_thinned_history_is_no_measurement_and_a_new_snapshot_keeps_what_was_seen() -> None:
    collector = Collector()
    collector.take(update([rank_view(0, 2)], [history(0, 0, [10.0, 20.0])]))
    thinned = RankHistory(rank=0, first_step=0, stride=2, wall_ms=[15.0], wait_ms=[0.0], flags=[0])
    collector.take(update([rank_view(0, 3)], [thinned, history(0, 2, [30.0])]))
    assert collector.steps_s() == [0.01, 0.02, 0.03]


def test_losses_and_foreign_load_are_gathered() -> None:
    collector = Collector()
    assert collector.foreign_cores() is None
    idle = HostView(name="h", age_s=0.0, cpu_busy=9.0, run_busy=0.0)
    collector.take(update([], [], host=idle))
    assert collector.foreign_cores() is None  # nothing is measured yet, so nothing is disturbed
    for step, loss in ((10, 2.5), (20, 2.25)):
        host = HostView(name="h", age_s=0.0, cpu_busy=1.75, run_busy=1.5, load_1m=2.0)
        view = rank_view(0, step + 1, loss=(step, loss))
        collector.take(update([view], [history(0, step, [10.0])], host=host))
    assert collector.losses == {10: 2.5, 20: 2.25}
    assert collector.foreign_cores() == pytest.approx(0.25)
    assert collector.load_1m == 2.0
    assert collector.samples_per_s() == pytest.approx(100.0)
