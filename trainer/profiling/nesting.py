"""Who contains whom: operators nest by time within a host thread, and device work belongs to its launcher."""

from dataclasses import dataclass

from perftui.trainer.profiling.trace_columns import DeviceCalls, DeviceSpans, HostSpans, Trace


@dataclass(frozen=True)
class Nesting:
    """Parallel to the host spans, the device calls and the device spans of a trace; -1 is nobody."""

    parent: list[int]
    """Host span → the host span around it."""
    self_ns: list[int]
    """Host span → its duration without what it contains."""
    outermost: list[bool]
    """Host span → no span of the same name is around it, so that totals count no time twice."""
    owner: list[int]
    """Device span → the host span that launched it."""
    launched_ns: list[int]
    """Device span → when its launch began; -1 where the trace has no launch for it."""
    inwards: list[int]
    """Host spans in an order in which containers come before what they contain."""


def nest(trace: Trace) -> Nesting:
    """Find containers, self times and launchers."""
    host, calls = trace.host, trace.calls
    parent, caller, inwards = _containers(host, calls)
    self_ns = [end - start for start, end in zip(host.start_ns, host.end_ns, strict=True)]
    for index, around in enumerate(parent):
        if around >= 0:  # a child may outlast its parent by a rounding of the trace's times
            self_ns[around] -= min(host.end_ns[index], host.end_ns[around]) - host.start_ns[index]
    owner, launched_ns = _owners(trace, caller)
    return Nesting(parent, self_ns, _outermost(host, parent), owner, launched_ns, inwards)


def _containers(host: HostSpans, calls: DeviceCalls) -> tuple[list[int], list[int], list[int]]:
    """Sweep each thread in time order with a stack of open spans."""
    spans, ends = len(host), host.end_ns
    events = [
        (thread, start, -end, index)
        for index, (thread, start, end) in enumerate(
            zip(host.thread, host.start_ns, host.end_ns, strict=True)
        )
    ]
    events += [
        (thread, start, -start, spans + index)
        for index, (thread, start) in enumerate(zip(calls.thread, calls.start_ns, strict=True))
    ]
    events.sort()
    parent, caller, inwards = [-1] * spans, [-1] * len(calls), list[int]()
    stack: list[int] = []
    current = -1
    for thread, start, _, index in events:
        if thread != current:
            current = thread
            stack.clear()
        while stack and ends[stack[-1]] <= start:
            stack.pop()
        around = stack[-1] if stack else -1
        if index >= spans:
            caller[index - spans] = around
            continue
        parent[index] = around
        inwards.append(index)
        stack.append(index)
    return parent, caller, inwards


def _outermost(host: HostSpans, parent: list[int]) -> list[bool]:
    names = host.name
    result: list[bool] = []
    for name, first in zip(names, parent, strict=True):
        around = first
        while around >= 0 and names[around] != name:
            around = parent[around]
        result.append(around < 0)
    return result


def _owners(trace: Trace, caller: list[int]) -> tuple[list[int], list[int]]:
    """Follow each device span to its launch, and where the trace has none, to the operator it names.

    The launch comes first because old traces number operators and calls independently: an external id can
    be that of a call, and then names a stranger among the operators.
    """
    device: DeviceSpans = trace.device
    call_of = {
        identifier: index for index, identifier in enumerate(trace.calls.correlation) if identifier >= 0
    }
    span_of = {identifier: index for index, identifier in enumerate(trace.host.external) if identifier >= 0}
    owner: list[int] = []
    launched_ns: list[int] = []
    for external, correlation in zip(device.external, device.correlation, strict=True):
        call = call_of.get(correlation, -1)
        if call >= 0:
            owner.append(caller[call])
            launched_ns.append(trace.calls.start_ns[call])
        else:
            owner.append(span_of.get(external, -1))
            launched_ns.append(-1)
    return owner, launched_ns
