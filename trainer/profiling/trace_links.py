"""Which host span holds what, and which call launched which device span."""

from dataclasses import dataclass

import numpy as np

from perftui.trainer.profiling.nesting import containers, nearest, self_times
from perftui.trainer.profiling.trace_columns import DeviceCalls, Integers, Trace


@dataclass(frozen=True)
class Links:
    """Indices parallel to the host spans, calls and device spans of a trace; -1 is nobody."""

    parent: Integers
    """Host span → the host span around it."""
    self_ns: Integers
    """Host span → its duration without the host spans in it."""
    caller: Integers
    """Call → the host span around it."""
    host_frame: Integers
    """Host span → the innermost Python frame around it."""
    call_frame: Integers
    frame_parent: Integers
    """Python frame → the frame around it."""
    call: Integers
    """Device span → the call that launched it."""
    owner: Integers
    """Device span → the host span that launched it."""


def link(trace: Trace) -> Links:
    """Find containers, launchers and owners."""
    host, calls, python = trace.host, trace.calls, trace.python
    hosts, frames = len(host), len(host) + len(calls)
    parent = containers(
        np.concatenate((host.thread, calls.thread, python.thread)),
        np.concatenate((host.start, calls.start, python.start)),
        np.concatenate((host.end, calls.end, python.end)),
    )
    place = np.arange(len(parent))
    around = nearest(parent, place < hosts)
    frame = nearest(parent, place >= frames) if len(python) else np.full(len(parent), frames - 1)
    frame = np.maximum(frame - frames, -1)
    call = _launching_calls(trace.device.correlation, calls)
    return Links(
        parent=around[:hosts],
        self_ns=self_times(around[:hosts], host.start, host.end),
        caller=around[hosts:frames],
        host_frame=frame[:hosts],
        call_frame=frame[hosts:frames],
        frame_parent=frame[frames:],
        call=call,
        owner=_owners(trace, call, around[hosts:frames]),
    )


def _launching_calls(correlation: Integers, calls: DeviceCalls) -> Integers:
    """Return the call with each correlation, the first to begin where several have it (HTA takes all)."""
    known = np.flatnonzero(calls.correlation > 0)
    known = known[np.lexsort((calls.start[known], calls.correlation[known]))]
    return _found(correlation, calls.correlation[known], known)


def _owners(trace: Trace, call: Integers, caller: Integers) -> Integers:
    """Follow each device span to its launch, and where the trace has none, to the operator it names.

    The launch comes first because old traces number operators and calls independently: an external id can
    be that of a call, and then names a stranger among the operators.
    """
    known = np.flatnonzero(trace.host.external >= 0)
    known = known[np.argsort(trace.host.external[known], kind="stable")]
    named = _found(trace.device.external, trace.host.external[known], known)
    launched = np.append(caller, -1)[call]
    return np.where(call >= 0, launched, named)


def _found(wanted: Integers, keys: Integers, values: Integers) -> Integers:
    """Return the value of the first key that equals each wanted one; -1: none. Keys are sorted."""
    place = np.searchsorted(keys, wanted)
    inside = place < len(keys)
    place = np.where(inside, place, 0)
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    return np.where(inside & (keys[place] == wanted), values[place], -1)
