"""What windows are decided by: events, schedules, time limits, room on the disk. Pure."""

from dataclasses import replace
from pathlib import Path

import pytest

from perftui.ipc.errors import UsageError
from perftui.ipc.messages import FLAG_COMPILING, FLAG_EPOCH_START, FLAG_PROFILED, Preset
from perftui.ipc.profile_schedule import (
    ProfileSchedule,
    first_window,
    parse_every,
    parse_share,
    schedule_in,
    schedule_of,
)
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.trace_retention import TraceFile, too_many, trace_files
from perftui.trainer.hub.window_ranks import Lost, RankLife, given_up
from perftui.trainer.hub.window_schedule import Due, RankSteps, ScheduleWatch, jump_of, steady_walls_ms
from perftui.trainer.profiling.event_budget import clamped_steps


@pytest.mark.parametrize(
    ("asked", "preset", "per_step", "steps"),
    [
        (3, "light", None, 3),
        (1, "light", None, 1),
        (10, "light", None, 3),
        (10, "light", 6_000.0, 10),
        (50, "light", 6_000.0, 25),
        (50, "shapes", 6_000.0, 8),
        (10, "light", 70_000.0, 2),
        (10, "light", 149_000.0, 2),
        (10, "light", 200_000.0, 1),
        (1, "light", 200_000.0, 1),
        (50, "light", 0.5, 50),
    ],
)
def test_steps_fit_into_the_events(asked: int, preset: Preset, per_step: float | None, steps: int) -> None:
    found, why = clamped_steps(asked, preset, per_step)
    assert found == steps
    assert (why is None) == (steps == asked)
    assert why is None or f"{steps} of {asked} steps" in why


def test_what_a_schedule_may_be_written_as() -> None:
    assert parse_every("500:3") == (500, 3)
    assert parse_every("500") == (500, 3)
    assert parse_share("30%") == pytest.approx(0.3)
    assert parse_share("0.3") == pytest.approx(0.3)
    assert schedule_of(None, None, 4) is None
    assert schedule_of("100:2", "50 %", None) == ProfileSchedule(every_steps=100, steps=2, jump_share=0.5)
    both = {"PERFTUI_PROFILE": "20:3, every=500:4,jump=25%,most=2"}
    assert schedule_in(both) == ProfileSchedule(every_steps=500, steps=4, jump_share=0.25, most=2)
    assert first_window(both) == (20, 3)
    assert schedule_in({"PERFTUI_PROFILE": "20:3"}) is None
    assert schedule_in({}) is None
    assert first_window({"PERFTUI_PROFILE": "every=500:3"}) is None
    assert first_window({"PERFTUI_PROFILE": "soon"}) is None


@pytest.mark.parametrize("text", ["", "x", "500:", "500:x", "10:3", "100:30", "-5:3", "100:0"])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_every(text)


@pytest.mark.parametrize("text", ["", "x%", "0%", "4%", "-30%", "nan", "inf"])
def test_shares_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_share(text)


@pytest.mark.parametrize("text", ["soon", "every=x", "often=3", "most=x,every=100", "most=0,every=100"])
def test_a_variable_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        schedule_in({"PERFTUI_PROFILE": text})


def test_a_window_may_be_asked_for_as_soon_as_the_one_before_has_ended() -> None:
    watch = ScheduleWatch(ProfileSchedule(every_steps=100))
    assert watch.due([steps_of(done=195)], 5, free=False) is None
    due = watch.due([steps_of(done=196)], 5, free=True)
    assert due is not None
    assert due.start_step == 200


def steps_of(*walls_ms: float, done: int | None = None, rank: int = 0) -> RankSteps:
    return RankSteps(rank, len(walls_ms) if done is None else done, walls_ms)


def test_a_window_at_each_multiple_and_no_more_than_asked_for() -> None:
    watch = ScheduleWatch(ProfileSchedule(every_steps=100, most=3), opened=1)
    assert watch.due([], 5, free=True) is None
    assert watch.due([steps_of(done=30)], 5, free=True) is None
    first = watch.due([steps_of(done=84), steps_of(done=85)], 5, free=True)
    assert first == Due("every100", 100, "every 100 steps (window 2 of at most 3)")
    assert watch.due([steps_of(done=150)], 5, free=True) is None
    assert watch.due([steps_of(done=195)], 5, free=False) is None
    assert watch.due([steps_of(done=200)], 5, free=False) is None, "it falls into another window"
    assert watch.due([steps_of(done=201)], 5, free=True) is None
    late = watch.due([steps_of(done=777)], 5, free=True)
    assert late is None, "a training that was not looked at for long goes on with the next multiple"
    third = watch.due([steps_of(done=790)], 5, free=True)
    assert third is not None
    assert (third.window_id, third.start_step) == ("every800", 800)
    assert watch.due([steps_of(done=890)], 5, free=True) is None


STEADY = [10.0, 10.5, 9.5, 10.0] * 100


def test_what_a_jump_is() -> None:
    assert jump_of(STEADY) == 0.0
    assert jump_of([*STEADY, *[20.0] * 110]) == pytest.approx(1.0)
    assert jump_of(STEADY[:200]) is None
    one_slow = [*STEADY, *[10.0] * 190, 500.0, *[10.0] * 9]
    assert jump_of(one_slow) == 0.0
    two_kinds = [100.0, 300.0] * 60
    assert jump_of([*two_kinds, 300.0, 300.0]) == 0.0
    assert jump_of([100.0] * 60 + [140.0] * 20) == pytest.approx(0.4)


def test_steps_that_say_nothing_are_left_out() -> None:
    plain = StepRecord(0, 0, 5_000_000, 0, 0, 0, 0, 0, 0, 1, 0, 0)
    rows = [plain._replace(step=step) for step in range(8, 14)]
    rows += [
        plain._replace(step=20 + place, flags=flag)
        for place, flag in enumerate((FLAG_PROFILED, FLAG_COMPILING, FLAG_EPOCH_START))
    ]
    assert steady_walls_ms(rows) == [5.0] * 4


def test_a_jump_must_last_and_counts_once() -> None:
    watch = ScheduleWatch(ProfileSchedule(jump_share=0.3))
    slow = [*STEADY, *[20.0] * 100]
    assert watch.due([steps_of(*STEADY, done=120)], 5, free=True) is None
    assert watch.due([steps_of(*slow, done=220)], 5, free=True) is None
    assert watch.due([steps_of(*slow, done=221)], 5, free=True) is None, "the same steps as before"
    found = watch.due([steps_of(*STEADY, done=320), steps_of(*slow, done=320, rank=1)], 5, free=True)
    assert found is not None
    assert (found.window_id, found.start_step) == ("jump320", -1)
    assert found.why == "the step time rose by 100% on rank 1 (window 1 of at most 10)"
    for done in (330, 430, 530):
        assert watch.due([steps_of(*slow, done=done)], 5, free=True) is None
    assert watch.due([steps_of(*STEADY, done=600)], 5, free=True) is None, "it has passed"
    assert watch.due([steps_of(*slow, done=700)], 5, free=True) is None
    assert watch.due([steps_of(*slow, done=800)], 5, free=True) is not None


def test_a_jump_that_does_not_last_opens_nothing() -> None:
    watch = ScheduleWatch(ProfileSchedule(jump_share=0.3))
    slow = [*STEADY, *[20.0] * 100]
    for done in (100, 300, 500):
        assert watch.due([steps_of(*slow, done=done)], 5, free=True) is None
        assert watch.due([steps_of(*STEADY, done=done + 100)], 5, free=True) is None


LIFE = RankLife(state="armed", state_age_s=1.0, silent_s=0.5, gone=False, ended=False, step=7)


@pytest.mark.parametrize(
    ("life", "lost"),
    [
        (LIFE, None),
        (replace(LIFE, state=None, state_age_s=9.0), None),
        (replace(LIFE, state=None, state_age_s=11.0), ("silent", "it did not answer within 10 s")),
        (replace(LIFE, gone=True), ("aborted", "its process ended inside the window, without a word")),
        (replace(LIFE, ended=True), ("aborted", "its training ended")),
        (replace(LIFE, silent_s=31.0), ("silent", "nothing was heard from it for 30 s")),
        (replace(LIFE, state_age_s=149.0), None),
        (
            replace(LIFE, state_age_s=151.0),
            (
                "aborted",
                "step 40 did not come within 150 s: it is still in step 7 "
                "(a validation, a checkpoint, or it hangs)",
            ),
        ),
        (replace(LIFE, state="recording", state_age_s=89.0), None),
        (
            replace(LIFE, state="recording", state_age_s=91.0),
            ("aborted", "it was recording for more than 90 s, in step 7"),
        ),
        (replace(LIFE, state="saving", state_age_s=119.0), None),
        (
            replace(LIFE, state="saving", state_age_s=121.0),
            ("aborted", "it was saving for more than 120 s, in step 7"),
        ),
    ],
)
def test_when_a_rank_is_given_up(life: RankLife, lost: tuple[str, str] | None) -> None:
    expected = None if lost is None else Lost(*lost)
    assert given_up(life, 40, 10.0, may_wait=False) == expected


def test_a_window_far_ahead_may_wait() -> None:
    assert given_up(replace(LIFE, state_age_s=1e6), 40, 0.0, may_wait=True) is None


def files(*sizes: int) -> list[TraceFile]:
    return [TraceFile(Path(f"t{age}"), f"w{age}", size, 1000.0 - age) for age, size in enumerate(sizes)]


def test_what_a_window_s_files_are(tmp_path: Path) -> None:
    """Traces, snapshots and timelines go; reports and analyses stay."""
    for name in (
        "rank0_step4_n3_ab12.pt.trace.json.gz",
        "rank0_step4_n3_ab12.memory.pickle",
        "ab12.rank0.timeline",
        "ab12.report.json",
        "ab12.analysis.json",
        "ab12.workers.json",
    ):
        (tmp_path / name).touch()
    found = trace_files(tmp_path)
    assert {file.window_id for file in found} == {"ab12"}
    assert {file.path.name.split(".", 1)[1] for file in found} == {
        "pt.trace.json.gz",
        "memory.pickle",
        "rank0.timeline",
    }


def test_the_newest_traces_stay() -> None:
    assert too_many(files(1, 1, 1), 3, 100) == {}
    assert too_many(files(1, 1, 1, 1), 3, 100) == {"w3": [Path("t3")]}
    assert set(too_many(files(50, 40, 20, 1), 10, 100)) == {"w2", "w3"}
    assert too_many(files(500), 10, 100) == {}, "the newest stays whatever its size"
    both = [*files(1, 1), TraceFile(Path("more"), "w1", 1, 5.0)]
    assert too_many(both, 1, 100) == {"w1": [Path("t1"), Path("more")]}
