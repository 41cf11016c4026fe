"""What the host did instead of launching while the device was idle: it computed itself, or ran plain Python.

Launching a kernel takes the host some microseconds in operators and calls. An operator that launches nothing
and lasts long does its work on the CPU; where the launching threads are in no operator for long, the script
does something else: numpy, files, Python.
"""

import numpy as np

from perftui.ipc.host_work import HostWaits, HostWork
from perftui.ipc.trace_report import GAP_KINDS
from perftui.trainer.profiling.grouping import among, distinct
from perftui.trainer.profiling.host_names import computes, is_operator, issues
from perftui.trainer.profiling.idle_gaps import Gaps
from perftui.trainer.profiling.intervals import Intervals
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.thresholds import COMPUTING_NS, OUTSIDE_NS
from perftui.trainer.profiling.trace_columns import Flags, Integers

_ASKED = [GAP_KINDS.index(kind) for kind in ("loader", "sync_call", "host_other")]


def host_work(subject: Subject, gaps: Gaps) -> HostWork | None:
    """Return for how much of the window the device idled for it; None without device work or operators.

    Where operators were not recorded, all of the host's time looks as if it were outside of them.
    """
    whole = subject.window.length * len(subject.devices)
    if whole <= 0 or not subject.named(subject.trace.host.name, is_operator).any():
        return None
    asked = gaps.start + gaps.parts[_ASKED, :].sum(axis=0)
    elsewhere = subject.waits | subject.loader
    computing = (_computing(subject) - elsewhere).covered(gaps.start, asked)
    outside = (_outside(subject) - elsewhere).covered(gaps.start, asked)
    undrained = ~(gaps.sync_drained | gaps.copy_drained)
    return HostWork(
        computing=float(computing.sum()) / whole,
        outside=float(outside.sum()) / whole,
        undrained=float((computing + outside)[undrained].sum()) / whole,
    )


def host_waits(subject: Subject) -> HostWaits | None:
    """Return the share of the host range in waits for the device; None without a device.

    An operator that waits is taken as a whole, since all of it is spared where it is not called. One that
    also copies from pageable memory to the device is left out: it waits for that.
    """
    window, calls, host = subject.window, subject.trace.calls, subject.trace.host
    if window.host_length <= 0 or not len(subject.devices):
        return None
    waiting = np.flatnonzero(subject.waiting_calls)
    around = _outermost_operator(subject, waiting)
    staging = subject.staging_calls[waiting]
    own = ~staging & ~(among(around, distinct(around[staging])) & (around >= 0))
    mine, spans = waiting[own], distinct(around[own & (around >= 0)])
    alone = waiting[own & (around < 0)]
    in_calls = Intervals.union(calls.start[mine], calls.end[mine])
    in_operators = Intervals.union(
        np.concatenate((calls.start[alone], host.start[spans])),
        np.concatenate((calls.end[alone], host.end[spans])),
    )
    low, high, whole = window.host_start, window.host_end, window.host_length
    return HostWaits(
        in_calls=in_calls.clipped(low, high).length / whole,
        in_operators=in_operators.clipped(low, high).length / whole,
    )


def _computing(subject: Subject) -> Intervals:
    """Return when a launching thread was in a long operator that launches nothing, nor calls the device."""
    host = subject.trace.host
    mine = subject.named(host.name, computes) & among(host.thread, _threads(subject))
    mine &= (host.end - host.start >= COMPUTING_NS) & ~_calls_inside(subject)
    return Intervals.union(host.start[mine], host.end[mine])


def _outside(subject: Subject) -> Intervals:
    """Return the long stretches in which no launching thread was in an operator, or in a call."""
    host, calls, threads = subject.trace.host, subject.trace.calls, _threads(subject)
    inside = subject.named(host.name, issues) & among(host.thread, threads)
    calling = among(calls.thread, threads)
    issuing = Intervals.union(
        np.concatenate((host.start[inside], calls.start[calling])),
        np.concatenate((host.end[inside], calls.end[calling])),
    )
    rest = issuing.gaps(subject.window.host_start, subject.window.host_end)
    long = rest.end - rest.start >= OUTSIDE_NS
    return Intervals(rest.start[long], rest.end[long])


def _threads(subject: Subject) -> Integers:
    """Return the training threads and those that launch: others compute beside them."""
    linked = subject.links.call[subject.links.call >= 0]
    return np.concatenate((distinct(subject.trace.calls.thread[linked]), subject.training_threads))


def _calls_inside(subject: Subject) -> Flags:
    """Return of each host span whether the device's API was called within it."""
    result = np.zeros(len(subject.trace.host), np.bool_)
    level = distinct(subject.links.caller[subject.links.caller >= 0])
    while len(level):
        result[level] = True
        above = subject.links.parent[level]
        above = distinct(above[above >= 0])
        level = above[~result[above]]
    return result


def _outermost_operator(subject: Subject, calls: Integers) -> Integers:
    """Return the outermost operator around each call that is not held by anything else; -1: none is."""
    operator = subject.named(subject.trace.host.name, is_operator)
    parent = subject.links.parent
    result = np.full(len(calls), -1, np.int64)
    place = subject.links.caller[calls].copy()
    inside = (place >= 0) & operator[np.maximum(place, 0)]
    while inside.any():
        result[inside] = place[inside]
        place = np.where(inside, parent[np.maximum(place, 0)], -1)
        inside = (place >= 0) & operator[np.maximum(place, 0)]
    return result
