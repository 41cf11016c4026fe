"""Launches: calls of the device's API paired with the work they started."""

from dataclasses import dataclass

import numpy as np

from perftui.ipc.trace_report import LaunchFigures
from perftui.trainer.profiling.call_names import is_driver_launch, launches_graph
from perftui.trainer.profiling.grouping import numbered, quantile
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.thresholds import LONG_DELAY_NS, SLOW_CALL_NS
from perftui.trainer.profiling.trace_columns import Integers


@dataclass(frozen=True)
class Launches:
    """One entry a call that started device work, in the order of the calls' columns; nanoseconds."""

    call: Integers
    call_ns: Integers
    device_ns: Integers
    """Summed over what the call started: a graph has many kernels."""
    delay_ns: Integers
    """From the end of the call to the first start on the device; 0 where it began within the call."""


def find_launches(subject: Subject) -> Launches:
    """Return the launches whose call began in the host range."""
    device, calls = subject.trace.device, subject.trace.calls
    linked = np.flatnonzero(subject.links.call >= 0)
    linked = linked[subject.calls_in_window[subject.links.call[linked]]]
    call, inverse, _ = numbered(subject.links.call[linked])
    lasting = (device.end - device.start)[linked]
    first = np.full(len(call), np.iinfo(np.int64).max)
    np.minimum.at(first, inverse, device.start[linked])
    return Launches(
        call=call,
        call_ns=(calls.end - calls.start)[call],
        device_ns=np.bincount(inverse, weights=lasting, minlength=len(call)).astype(np.int64),
        delay_ns=np.maximum(first - calls.end[call], 0),
    )


def launch_figures(subject: Subject, launches: Launches) -> LaunchFigures | None:
    """Return the statistics; None without a launch in the trace."""
    count = len(launches.call)
    if count == 0:
        return None
    names = subject.trace.calls.name[launches.call]
    return LaunchFigures(
        count=count,
        graph_launches=int(subject.named(names, launches_graph).sum()),
        driver_launches=int(subject.named(names, is_driver_launch).sum()),
        per_step=subject.per_step(count),
        call_us_total=float(launches.call_ns.sum()) / 1000,
        call_us_p50=quantile(launches.call_ns, 0.5) / 1000,
        call_us_max=float(launches.call_ns.max()) / 1000,
        device_us_p50=quantile(launches.device_ns, 0.5) / 1000,
        delay_us_p50=quantile(launches.delay_ns, 0.5) / 1000,
        delay_us_p90=quantile(launches.delay_ns, 0.9) / 1000,
        delay_us_max=float(launches.delay_ns.max()) / 1000,
        short_share=float((launches.device_ns < launches.call_ns).sum()) / count,
        slow_calls=int((launches.call_ns > SLOW_CALL_NS).sum()),
        long_delays=int((launches.delay_ns > LONG_DELAY_NS).sum()),
    )
