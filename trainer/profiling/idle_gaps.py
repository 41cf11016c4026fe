"""Stretches in which a device did nothing, and what it waited for.

A gap ends with a device span k that a call launched at time l. Until l the host had not asked for k: that
part was the loader's, a waiting call's, or anything else's on the host. What remains after l is the launch
latency, or, where it is long, a dependency: k was there and waited for another stream, an event or a
collective. Where it is long, l is the end of the call: launching a large graph keeps the host for long.
"""

from dataclasses import dataclass

import numpy as np

from perftui.ipc.trace_report import GAP_KINDS, GapKind, IdleShares
from perftui.trainer.profiling.grouping import distinct
from perftui.trainer.profiling.intervals import Intervals
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.thresholds import LAUNCH_LATENCY_NS
from perftui.trainer.profiling.trace_columns import Flags, Integers

_HOST = GAP_KINDS.index("sync_call"), GAP_KINDS.index("host_other")


@dataclass(frozen=True)
class Gaps:
    """Columns of equal length, one entry a gap."""

    device: Integers
    start: Integers
    end: Integers
    next: Integers
    """The device span that ends it; -1 at the window's end."""
    parts: Integers
    """[5, gaps]: nanoseconds of each of `GAP_KINDS`; they sum to the gap."""
    queued: Flags
    """What ends it had been launched before it began."""
    sync_drained: Flags
    """The device ran dry while the host stood in a call that waits for it."""
    copy_drained: Flags
    """The same, in a call that copies from pageable memory."""

    @property
    def kind(self) -> list[GapKind]:
        """The largest part of each."""
        return [GAP_KINDS[index] for index in np.argmax(self.parts, axis=0).tolist()]


def find_gaps(subject: Subject) -> Gaps:
    """Return the gaps of all devices within the window, in order of time on each device."""
    device: list[Integers] = []
    start: list[Integers] = []
    end: list[Integers] = []
    following: list[Integers] = []
    for number in subject.devices:
        gaps = subject.on(number).gaps(subject.window.start, subject.window.end)
        start.append(gaps.start)
        end.append(gaps.end)
        device.append(np.full(len(gaps), number, np.int64))
        following.append(_starting(subject, number, gaps.end))
    nothing: list[Integers] = [np.zeros(0, np.int64)]
    starts, ends = np.concatenate(start + nothing), np.concatenate(end + nothing)
    nexts = np.concatenate(following + nothing)
    asked = _asked(subject, starts, ends, nexts)
    return Gaps(
        device=np.concatenate(device + nothing),
        start=starts,
        end=ends,
        next=nexts,
        parts=_parts(subject, starts, ends, asked),
        queued=_queued(subject, starts, nexts),
        sync_drained=_drained(subject, starts, subject.waiting_calls & ~subject.staging_calls),
        copy_drained=_drained(subject, starts, subject.staging_calls),
    )


def _starting(subject: Subject, device: int, times: Integers) -> Integers:
    """Return the first of the device's spans that starts at each time; -1: none does."""
    spans = subject.trace.device
    mine = np.flatnonzero((spans.device == device) & (spans.end > spans.start))
    if not len(mine):
        return np.full(len(times), -1, np.int64)
    mine = mine[np.argsort(spans.start[mine], kind="stable")]
    place = np.minimum(np.searchsorted(spans.start[mine], times), len(mine) - 1)
    return np.where(spans.start[mine][place] == times, mine[place], -1)


def _asked(subject: Subject, start: Integers, end: Integers, following: Integers) -> Integers:
    """Return until when, within each gap, the host had not asked for what ends it."""
    calls = subject.trace.calls
    call = np.append(subject.links.call, -1)[following]
    began = np.clip(np.append(calls.start, 0)[call], start, end)
    done = np.clip(np.append(calls.end, 0)[call], start, end)
    asked = np.where(end - began < LAUNCH_LATENCY_NS, began, done)
    return np.where(following < 0, end, np.where(call >= 0, asked, start))


def _queued(subject: Subject, start: Integers, following: Integers) -> Flags:
    """Return whether the call that launched what ends each gap was over, or its first work had begun."""
    device, calls, links = subject.trace.device, subject.trace.calls, subject.links
    linked = np.flatnonzero(links.call >= 0)
    handed = np.append(calls.end, np.iinfo(np.int64).min)  # without a launch: long before
    np.minimum.at(handed, links.call[linked], device.start[linked])
    result: Flags = (following >= 0) & (handed[np.append(links.call, -1)[following]] <= start)
    return result


def _parts(subject: Subject, start: Integers, end: Integers, asked: Integers) -> Integers:
    loader = subject.loader.covered(start, asked)
    sync = (subject.waits - subject.loader).covered(start, asked)
    rest = end - asked
    late = rest < LAUNCH_LATENCY_NS
    nothing = np.zeros_like(rest)
    return np.stack(
        (
            loader,
            sync,
            asked - start - loader - sync,
            np.where(late, rest, nothing),
            np.where(late, nothing, rest),
        )
    )


def _drained(subject: Subject, start: Integers, chosen: Flags) -> Flags:
    calls = subject.trace.calls
    return Intervals.union(calls.start[chosen], calls.end[chosen]).contains(start - 1)


def drained_ns(subject: Subject, gaps: Gaps) -> Integers:
    """Return by call the host's part of the gaps that began while the host waited in it; 0 for others."""
    calls = subject.trace.calls
    waiting = np.flatnonzero(subject.waiting_calls & ~subject.staging_calls)
    result = np.zeros(len(calls), np.int64)
    left = gaps.sync_drained.copy()
    for thread in distinct(calls.thread[waiting]).tolist():
        mine = waiting[calls.thread[waiting] == thread]
        mine = mine[np.argsort(calls.start[mine], kind="stable")]
        place = mine[np.maximum(np.searchsorted(calls.start[mine], gaps.start - 1, side="right") - 1, 0)]
        inside = left & (calls.start[place] < gaps.start) & (gaps.start <= calls.end[place])
        np.add.at(result, place[inside], gaps.parts[_HOST, :][:, inside].sum(axis=0))
        left &= ~inside
    return result


def drained_share(subject: Subject, gaps: Gaps, drained: Flags) -> float | None:
    """Return the host's part of the gaps that began drained, as a share of the window."""
    whole = subject.window.length * len(subject.devices)
    return None if whole <= 0 else float(gaps.parts[_HOST, :][:, drained].sum()) / whole


def queued_share(subject: Subject, gaps: Gaps) -> float | None:
    """Return the launch latency of gaps between work that was queued, as a share of the window."""
    whole = subject.window.length * len(subject.devices)
    latency = gaps.parts[GAP_KINDS.index("launch_latency"), gaps.queued]
    return None if whole <= 0 else float(latency.sum()) / whole


def idle_shares(subject: Subject, gaps: Gaps) -> IdleShares | None:
    """Return the idle part by kind, as shares of the window; None without device work."""
    whole = subject.window.length * len(subject.devices)
    if whole <= 0:
        return None
    loader, sync_call, host_other, launch_latency, dependency = (
        float(total) / whole for total in gaps.parts.sum(axis=1)
    )
    return IdleShares(
        loader=loader,
        sync_call=sync_call,
        host_other=host_other,
        launch_latency=launch_latency,
        dependency=dependency,
    )
