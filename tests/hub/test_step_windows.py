"""Steps as spans of time for the GPU's readings, worked out by hand."""

import os
import time

import pytest

from perftui.ipc.messages import FLAG_COMPILING, FLAG_PROFILED
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.step_windows import clock_shift_s, step_window, steps_until
from perftui.trainer.telemetry.gpu_over_steps import StepWindow
from tests.hub.made_messages import OFFSET_NS, hello

MS = 1_000_000


def row(step: int, end_ms: float, wall_ms: float = 100.0, samples: int = 8, flags: int = 0) -> StepRecord:
    return StepRecord(step, int(end_ms * MS), int(wall_ms * MS), 0, 0, 0, 0, 0, samples, 1, 0, flags)


def regular(count: int, wall_ms: float = 100.0) -> list[StepRecord]:
    """Steps that follow each other, from time 0, newest first."""
    return [row(step, (step + 1) * wall_ms, wall_ms) for step in reversed(range(count))]


def seconds(window: StepWindow | None) -> tuple[tuple[float, float], ...]:
    assert window is not None
    return tuple((round(begin_s, 6), round(end_s, 6)) for begin_s, end_s in window.spans)


def test_the_newest_steps_that_had_ended_by_a_moment() -> None:
    window = step_window(regular(100), 8.05, 0.0, steps=60)
    assert window is not None
    assert window.steps == 60
    assert seconds(window) == ((2.0, 8.0),)
    assert window.samples_per_s == pytest.approx(80.0)


def test_short_steps_are_taken_until_they_fill_five_seconds() -> None:
    window = step_window(regular(2000, wall_ms=5.0), 10.0, 0.0, steps=200)
    assert window is not None
    assert (window.steps, seconds(window)) == (1000, ((5.0, 10.0),))


def test_unusual_steps_cut_the_window_into_spans() -> None:
    rows = [
        each._replace(flags=FLAG_PROFILED if each.step in (3, 4) else 0, samples=-1 if each.step == 8 else 8)
        for each in regular(10, wall_ms=1000.0)
    ]
    window = step_window(rows, 10.0, 0.0, steps=100)
    assert window is not None
    assert (window.steps, seconds(window)) == (8, ((0.0, 3.0), (5.0, 10.0)))
    assert window.samples_per_s == pytest.approx(8.0)
    assert step_window([each._replace(flags=FLAG_COMPILING) for each in rows], 10.0, 0.0, 100) is None


def test_steps_long_ago_are_not_joined_to_the_present() -> None:
    assert step_window(regular(10), 10.9, 0.0, steps=5) is not None
    assert step_window(regular(10), 11.1, 0.0, steps=5) is None
    slow = regular(3, wall_ms=60_000.0)
    assert step_window(slow, 180.0 + 170.0, 0.0, steps=5) is not None
    assert step_window(slow, 180.0 + 190.0, 0.0, steps=5) is None


def test_a_batch_that_does_not_tell_its_size() -> None:
    window = step_window([each._replace(samples=-1) for each in regular(100)], 10.0, 0.0, steps=100)
    assert window is not None
    assert window.samples_per_s is None


def test_another_clock_is_shifted() -> None:
    window = step_window(regular(100), 1008.05, 1000.0, steps=60)
    assert seconds(window) == ((1002.0, 1008.0),)


def track_with(rank: int, rows: list[StepRecord], pid: int) -> RankTrack:
    track = RankTrack(hello=hello(rank, pid=pid), first_unix=0.0, last_unix=0.0)
    track.log.extend(list(reversed(rows)))
    return track


def test_ranks_that_share_a_gpu_add_their_samples() -> None:
    tracks = [track_with(rank, regular(100), os.getpid()) for rank in (0, 1)]
    window = steps_until(tracks, 60)(10.0)
    assert window is not None
    assert window.steps == 60
    assert window.samples_per_s == pytest.approx(160.0)
    assert steps_until(tracks, 60)(50.0) is None
    assert steps_until([], 60)(10.0) is None


def test_the_warm_up_is_left_out() -> None:
    window = steps_until([track_with(0, regular(30), os.getpid())], 200)(3.0)
    assert seconds(window) == ((1.0, 3.0),)


def test_processes_of_one_time_namespace_share_the_clock() -> None:
    own = track_with(0, regular(3), os.getpid())
    assert own.hello.wall_offset_ns == OFFSET_NS  # far from the truth, and not needed
    assert clock_shift_s(own) == 0.0
    assert (
        time.get_clock_info("perf_counter").implementation == time.get_clock_info("monotonic").implementation
    )
