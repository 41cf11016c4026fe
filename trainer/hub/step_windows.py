"""The newest steps of ranks as spans of time, to which readings of a GPU are joined. Pure but for the clock.

`perf_counter_ns` of a rank and `time.monotonic()` of the readings are one clock on Linux (CLOCK_MONOTONIC),
so a step's end needs no translation; only where a rank lives in a time namespace of its own do the two ends'
wall clocks tell the difference.
"""

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from perftui.ipc.messages import UNUSUAL_FLAGS
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.step_log import WARM_STEPS
from perftui.trainer.telemetry.gpu_over_steps import StepsUntil, StepWindow

LEAST_S = 5.0
"""Where the steps of the statistics took less time than this, older ones are taken in as well."""
_IDLE_S = 10.0
_IDLE_STEPS = 3
_SPANS_MAX = 32
_SAME_NS = 1_000_000
"""Steps closer to each other than this follow each other."""


def step_window(
    newest_first: Iterable[StepRecord], until_s: float, shift_s: float, steps: int
) -> StepWindow | None:
    """Return the newest steps that had ended by a moment; None when there are none, or the last is long ago.

    Args:
        newest_first: the rank's steps past its warm-up; unusual ones (profiled, compiling, failed) are passed
            over and cut the window into spans.
        until_s: the moment, on the readings' clock.
        shift_s: what to add to the rank's clock to get the readings'.
        steps: as many as the statistics cover; more where these took less than `LEAST_S`.
    """
    until_ns, count, taken_ns = int((until_s - shift_s) * 1e9), 0, 0
    samples, sampled_ns = 0, 0
    spans: list[tuple[int, int]] = []
    for row in newest_first:
        if row.end_ns > until_ns or row.flags & UNUSUAL_FLAGS:
            continue
        if not count and until_ns - row.end_ns > max(_IDLE_S * 1e9, _IDLE_STEPS * row.wall_ns):
            return None
        if count >= steps and taken_ns >= LEAST_S * 1e9:
            break
        if not _add_to(spans, row):
            break
        count += 1
        taken_ns += row.wall_ns
        if row.samples >= 0:
            samples += row.samples
            sampled_ns += row.wall_ns
    if not count:
        return None
    return StepWindow(
        steps=count,
        spans=tuple((begin / 1e9 + shift_s, end / 1e9 + shift_s) for begin, end in reversed(spans)),
        samples_per_s=samples / (sampled_ns / 1e9) if samples else None,
    )


def _add_to(spans: list[tuple[int, int]], row: StepRecord) -> bool:
    """Add an older step to the oldest span or begin another one; False when there are enough."""
    begin_ns = row.end_ns - row.wall_ns
    if spans and spans[-1][0] - row.end_ns <= _SAME_NS:
        spans[-1] = (min(spans[-1][0], begin_ns), spans[-1][1])
        return True
    if len(spans) == _SPANS_MAX:
        return False
    spans.append((begin_ns, row.end_ns))
    return True


def steps_until(tracks: Sequence[RankTrack], steps: int) -> StepsUntil:
    """Return what gives the newest steps of the ranks on one GPU.

    The steps are those of the lowest rank; ranks that share a GPU work at the same time: their samples add.
    """
    with_shifts = [(track, clock_shift_s(track)) for track in tracks]

    def until(moment_s: float) -> StepWindow | None:
        windows = [step_window(_past_warm_up(t), moment_s, shift_s, steps) for t, shift_s in with_shifts]
        found = [window for window in windows if window is not None]
        if not found:
            return None
        rates = [window.samples_per_s for window in found if window.samples_per_s is not None]
        together = sum(rates) if len(rates) == len(windows) else None
        return StepWindow(found[0].steps, found[0].spans, together)

    return until


def _past_warm_up(track: RankTrack) -> Iterable[StepRecord]:
    warm = min(WARM_STEPS, len(track.log) // 3)
    return (row for row in reversed(track.log.raw) if row.step >= warm)


def clock_shift_s(track: RankTrack) -> float:
    """Return what to add to a rank's clock to get this process's `time.monotonic()`."""
    if shares_clock(track.hello.pid):
        return 0.0
    own_offset_ns = time.time_ns() - time.perf_counter_ns()
    return (track.hello.wall_offset_ns - own_offset_ns) / 1e9


def shares_clock(pid: int) -> bool:
    """Return whether a process of this host has the same monotonic clock as this one."""
    return _time_namespace(pid) in (None, _time_namespace(os.getpid()))


def _time_namespace(pid: int) -> str | None:
    """Return the name of a process's time namespace; None where it cannot be told, or the kernel has none."""
    try:
        return str(Path(f"/proc/{pid}/ns/time").readlink())
    except OSError:
        return None
