"""Single figures of a window as rows (name, value, meaning): memory, launches, queues, compiling, HTA's."""

from collections.abc import Iterator
from typing import NamedTuple

from perftui.ipc.trace_report import HtaFigures, LaunchFigures, RankReport
from perftui.tui import format as fmt
from perftui.tui.renderables.trace_columns import name_column
from perftui.tui.renderables.trace_table import Column


class Figure(NamedTuple):
    """One figure."""

    name: str
    text: str
    value: float | None
    """The number behind the text, for sorting and for exports."""
    unit: str
    meaning: str


FIGURES: tuple[Column[Figure], ...] = (
    name_column("figure", lambda row: row.name),
    Column("value", lambda row: row.text, lambda row: row.value, width=13),
    name_column("what it means", lambda row: row.meaning, 1, role=lambda _: "dim", sentence=True),
)


def memory_figures(rank: RankReport | None) -> list[Figure]:
    """Return what the window tells of memory."""
    found = rank.allocator if rank else None
    if found is None:
        return []
    return [
        _count("device allocations", found.device_allocations, "calls to the driver; 0 when steady"),
        _count("device frees", found.device_frees, "each of them may stop the device; 0 when steady"),
        _time("time in both", found.total_us, "the host's time in these calls"),
        _mib("peak allocated", found.peak_mib, "of tensors; needs the preset memory"),
        _mib("allocated a step", found.allocated_mib_per_step, "churn; needs the preset memory"),
    ]


def launch_figures(rank: RankReport | None) -> list[Figure]:
    """Return how the host feeds the device, what was compiled, and the figures by HTA's conventions."""
    if rank is None:
        return []
    figures = list(_launches(rank.launches)) if rank.launches else []
    for queue in rank.queue:
        where = f"GPU {queue.device} stream {queue.stream}"
        figures += [
            Figure(f"queue of {where}", fmt.number(queue.mean_depth), queue.mean_depth, "launches",
                   f"mean number of launches waiting; at most {queue.max_depth:,}"),
            _share(f"queue full, {where}", queue.full_share, "share of the window with 1000 or more waiting"),
        ]  # fmt: skip
    if rank.tensor_core_share is not None:
        figures.append(_share("on tensor cores", rank.tensor_core_share, "of device time, by names"))
    if rank.compile is not None:
        figures += [
            _time("compiling", rank.compile.compiling_us, "above 0: not the steady state"),
            _share("compiled", rank.compile.compiled_share, "of the host's time, inside compiled regions"),
        ]
    drained = (
        (
            "idle between queued work",
            rank.queued_gap_share,
            "short gaps before what had been launched already",
        ),
        ("idle after a sync call", rank.sync_drained_share, "the host had waited, and nothing was queued"),
        ("idle after a copy", rank.copy_drained_share, "the same, where that call copied pageable memory"),
    )
    figures += [_share(name, value, meaning) for name, value, meaning in drained if value is not None]
    return figures + (list(_hta(rank.hta)) if rank.hta else [])


def _launches(found: LaunchFigures) -> Iterator[Figure]:
    yield _count("launches", found.count, "a launch of a whole graph counts once")
    yield _count("graph launches", found.graph_launches, "of these, launches of graphs")
    yield _count("driver launches", found.driver_launches, "of these, through the driver's interface")
    yield Figure(
        "launches a step", fmt.number(found.per_step), found.per_step, "launches", "over the recorded steps"
    )
    yield _time("call, median", found.call_us_p50, "the host's time in one launch")
    yield _time("call, longest", found.call_us_max, f"{found.slow_calls:,} took more than 50 µs")
    yield _time("calls, all", found.call_us_total, "the host's time in all launches")
    yield _time("on the device, median", found.device_us_p50, "what one launch starts")
    yield _time("delay, median", found.delay_us_p50, "from the call's end to the start on the device")
    yield _time("delay, p90", found.delay_us_p90, "long where the host is far ahead: that is fine")
    yield _time("delay, longest", found.delay_us_max, f"{found.long_delays:,} were above 100 µs")
    yield _share("short launches", found.short_share, "whose work took less time than the call itself")


def _hta(found: HtaFigures) -> Iterator[Figure]:
    said = "by HTA's conventions, first to last kernel"
    percents = (
        ("HTA idle", found.idle_pct),
        ("HTA compute", found.compute_pct),
        ("HTA non-compute", found.non_compute_pct),
        ("HTA overlap", found.overlap_pct),
    )
    for name, value in percents:
        yield Figure(name, fmt.percent(value / 100 if value is not None else None), value, "%", said)
    for stream, classes in sorted(found.idle_classes.items()):
        for kind, value in sorted(classes.items()):
            yield _time(f"HTA idle, stream {stream}, {kind.replace('_', ' ')}", value, said)
    for name, value in sorted(found.launch_stats.items()):
        yield Figure(f"HTA {name.replace('_', ' ')}", fmt.number(value), value, "", said)


def _count(name: str, value: int | None, meaning: str) -> Figure:
    return Figure(name, fmt.count(value), value, "", meaning)


def _time(name: str, value: float | None, meaning: str) -> Figure:
    return Figure(name, fmt.microseconds(value), value, "us", meaning)


def _share(name: str, value: float | None, meaning: str) -> Figure:
    return Figure(name, fmt.percent(value), value, "share", meaning)


def _mib(name: str, value: float | None, meaning: str) -> Figure:
    return Figure(name, fmt.mebibytes(value), value, "MiB", meaning)
