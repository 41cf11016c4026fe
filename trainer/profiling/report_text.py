"""A trace report for a reader without a dashboard: the sentence, where the time went, first rows. Pure."""

from collections.abc import Sequence

from perftui.ipc.trace_report import GpuShares, RankReport, TraceReport
from perftui.trainer.text_table import NEVER, fine, number, table

_ROWS = 10
_BAR_CELLS = 60
_NAME_CELLS = 60
_PARTS = (
    ("compute_only", "compute", "█"),
    ("overlap", "compute with communication", "▓"),
    ("comm_exposed", "communication", "▒"),
    ("mem_exposed", "copies", "░"),
    ("idle", "idle", "·"),
)
_RIGHT = frozenset(range(1, 9))


def report_text(report: TraceReport) -> list[str]:
    """Return the report as lines."""
    lines = [report.sentence]
    for rank in report.ranks:
        lines += ["", *_rank(rank, "window" if report.windows else "rank")]
    if report.waits:
        lines += ["", *_waits(report)]
    for note in report.notes:
        lines += ["", f"note: {note}"] if note == report.notes[0] else [f"note: {note}"]
    return lines


def _rank(rank: RankReport, title: str) -> list[str]:
    if rank.error is not None:
        return [f"{title} {rank.rank}: {rank.error}"]
    steps = f"{len(rank.steps)} steps, " if rank.steps else ""
    device = f", {rank.device_name}" if rank.device_name else ""
    size = f"{fine(rank.window_ms, 1)} ms, {number(rank.events, 'd')} events"
    lines = [f"{title} {rank.rank}{device}: {steps}{size}, {rank.path}"]
    if rank.gpu is not None:
        lines += _bar(rank.gpu)
    if rank.idle is not None:
        kinds = (
            (rank.idle.loader, "loader"),
            (rank.idle.sync_call, "waiting call"),
            (rank.idle.host_other, "other host work"),
            (rank.idle.launch_latency, "launch latency"),
            (rank.idle.dependency, "dependency"),
        )
        lines.append("idle for  " + ", ".join(f"{name} {share:.1%}" for share, name in kinds))
    for part in (_kernels, _operators, _waiting_calls, _copies, _collectives):
        rows = part(rank)
        if rows:
            lines += ["", *rows]
    return lines


def _bar(gpu: GpuShares) -> list[str]:
    """Return the parts to scale, each with at least its share rounded down, and the legend."""
    shares = [getattr(gpu, field) for field, _, _ in _PARTS]
    cells = [int(share * _BAR_CELLS) for share in shares]
    by_rest = sorted(range(len(_PARTS)), key=lambda at: cells[at] - shares[at] * _BAR_CELLS)
    for at in by_rest[: _BAR_CELLS - sum(cells)]:
        cells[at] += 1
    bar = "".join(glyph * count for (_, _, glyph), count in zip(_PARTS, cells, strict=True))
    legend = "  ".join(
        f"{glyph} {title} {share:.1%}" for (_, title, glyph), share in zip(_PARTS, shares, strict=True)
    )
    return [bar, legend]


def _kernels(rank: RankReport) -> list[str]:
    rows = [
        (
            _short(one.name),
            str(one.count),
            _ms(one.total_us),
            f"{one.mean_us:.1f}",
            f"{one.share:.1%}",
            one.kind,
        )
        for one in rank.kernels[:_ROWS]
    ]
    return _table(("KERNEL", "COUNT", "TOTAL ms", "MEAN µs", "SHARE", "CLASS"), rows, frozenset(range(1, 5)))


def _operators(rank: RankReport) -> list[str]:
    rows = [
        (
            _short(one.name),
            str(one.count),
            _ms(one.self_us),
            _ms(one.total_us),
            _ms(one.self_device_us),
            _ms(one.device_us),
            f"{one.share:.1%}",
            NEVER if one.host_per_device is None else f"{one.host_per_device:.2f}",
        )
        for one in rank.operators[:_ROWS]
    ]
    head = ("OPERATOR", "COUNT", "SELF ms", "TOTAL ms", "SELF GPU ms", "GPU ms", "SHARE", "HOST:GPU")
    return _table(head, rows, _RIGHT)


def _waiting_calls(rank: RankReport) -> list[str]:
    rows = [
        (
            _short(one.call),
            str(one.count),
            _ms(one.total_us),
            f"{one.share:.1%}",
            one.operator or NEVER,
            one.where or NEVER,
        )
        for one in rank.syncs[:_ROWS]
    ]
    return _table(("WAITING CALL", "COUNT", "TOTAL ms", "SHARE", "IN", "AT"), rows, frozenset(range(1, 4)))


def _copies(rank: RankReport) -> list[str]:
    rows = [
        (
            _short(one.kind),
            str(one.count),
            _ms(one.total_us),
            _ms(one.exposed_us),
            number(one.mib, ".1f"),
            number(one.gib_s, ".2f"),
        )
        for one in rank.memcpy[:_ROWS]
    ]
    return _table(("COPY", "COUNT", "TOTAL ms", "EXPOSED ms", "MiB", "GiB/s"), rows, _RIGHT)


def _collectives(rank: RankReport) -> list[str]:
    rows = [
        (
            _short(one.name),
            str(one.count),
            _ms(one.total_us),
            _ms(one.exposed_us),
            number(one.mib, ".1f"),
            _ms(one.wait_us),
            one.group or NEVER,
        )
        for one in rank.collectives[:_ROWS]
    ]
    head = ("COLLECTIVE", "COUNT", "TOTAL ms", "EXPOSED ms", "MiB", "WAITED ms", "GROUP")
    return _table(head, rows, frozenset(range(1, 6)))


def _waits(report: TraceReport) -> list[str]:
    rows = [
        (
            f"rank {one.rank}" + (" (straggler)" if one.rank == report.straggler else ""),
            str(one.matched),
            _ms(one.wait_us),
            f"{one.late_us:.0f}",
            f"{one.last_share:.0%}",
        )
        for one in report.waits
    ]
    return _table(("IN COLLECTIVES", "MATCHED", "WAITED ms", "LATE µs", "LAST"), rows, _RIGHT)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int]) -> list[str]:
    return table([head, *rows], right) if rows else []


def _short(name: str) -> str:
    return name if len(name) <= _NAME_CELLS else f"{name[: _NAME_CELLS - 1]}…"


def _ms(microseconds: float | None) -> str:
    return fine(None if microseconds is None else microseconds / 1000)
