"""The operator table of a window: what each took on the host, and on the device by what it launched."""

from dataclasses import dataclass

from perftui.ipc.view import OperatorRow
from perftui.trainer.profiling.nesting import Nesting
from perftui.trainer.profiling.steps import LOADER_PREFIX, Window
from perftui.trainer.profiling.trace_columns import Trace

ROW_LIMIT = 60


@dataclass
class _Sums:
    count: int = 0
    self_cpu_ns: int = 0
    cpu_ns: int = 0
    self_device_ns: int = 0
    device_ns: int = 0


def operator_rows(
    trace: Trace, nesting: Nesting, window: Window, limit: int = ROW_LIMIT
) -> list[OperatorRow]:
    """Return the operators that began in the window, the costliest by self time first.

    Device time counts where there is a device, else CPU time. The loader's row is always among the rows.
    """
    with_device = len(trace.device) > 0
    span_ns = window.device_ns if with_device else window.host_ns
    rows = [
        _row(name, sums, span_ns, with_device=with_device)
        for name, sums in _sums(trace, nesting, window).items()
    ]
    rows.sort(key=lambda row: (-row.share, -row.self_cpu_us, row.name))
    cut = [row for row in rows[limit:] if row.name.startswith(LOADER_PREFIX)]
    return rows[: max(0, limit - len(cut))] + cut


def _sums(trace: Trace, nesting: Nesting, window: Window) -> dict[str, _Sums]:
    host = trace.host
    own_ns, total_ns = _device_times(trace, nesting)
    by_name: dict[str, _Sums] = {}
    for index, name in enumerate(host.name):
        start = host.start_ns[index]
        if not window.host_start_ns <= start < window.host_end_ns:
            continue
        sums = by_name.get(name)
        if sums is None:
            sums = by_name[name] = _Sums()
        sums.count += 1
        sums.self_cpu_ns += nesting.self_ns[index]
        sums.self_device_ns += own_ns[index]
        if nesting.outermost[index]:
            sums.cpu_ns += host.end_ns[index] - start
            sums.device_ns += total_ns[index]
    return by_name


def _device_times(trace: Trace, nesting: Nesting) -> tuple[list[int], list[int]]:
    """Return per host span the device time it launched itself, and that of all within it."""
    own_ns = [0] * len(trace.host)
    for owner, start, end in zip(nesting.owner, trace.device.start_ns, trace.device.end_ns, strict=True):
        if owner >= 0:
            own_ns[owner] += end - start
    total_ns = list(own_ns)
    for index in reversed(nesting.inwards):
        around = nesting.parent[index]
        if around >= 0:
            total_ns[around] += total_ns[index]
    return own_ns, total_ns


def _row(name: str, sums: _Sums, span_ns: int, *, with_device: bool) -> OperatorRow:
    leading_ns = sums.self_device_ns if with_device else sums.self_cpu_ns
    return OperatorRow(
        name=name,
        count=sums.count,
        self_cpu_us=sums.self_cpu_ns / 1000,
        cpu_us=sums.cpu_ns / 1000,
        self_device_us=sums.self_device_ns / 1000 if with_device else None,
        device_us=sums.device_ns / 1000 if with_device else None,
        share=leading_ns / span_ns if span_ns > 0 else 0.0,
    )
