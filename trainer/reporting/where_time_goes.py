"""The parts of a report on time: steps, shares, device time, phases, profiling windows. Pure."""

from collections.abc import Iterator

from perftui.ipc.summary import RankSummary, Summary
from perftui.ipc.trace_report import TraceReport
from perftui.ipc.view import ProfileRank, ProfileView
from perftui.trainer.reporting.blocks import (
    Block,
    Heading,
    Items,
    Paragraph,
    ShareBars,
    Table,
    percent_or_never,
)
from perftui.trainer.reporting.run_report import RunReport
from perftui.trainer.text_table import fine, number

TOP_ROWS = 8
_SHARES = (
    ("loader_wait", "wait"),
    ("h2d", "copy"),
    ("forward", "forward"),
    ("backward", "backward"),
    ("comm_exposed", "comm"),
    ("optimizer", "optimizer"),
    ("other", "other"),
)


def steps(summary: Summary) -> Iterator[Block]:
    """Yield step times and shares of each rank."""
    yield Heading(2, "Steps")
    if not any(rank.step_ms for rank in summary.ranks):
        yield Paragraph(summary.message or "No step was measured.")
    if not summary.ranks:
        return
    yield Table(
        ("rank", "steps", "measured", "mean ms", "p50", "p90", "p99", "samples/s", "tokens/s", "loss"),
        tuple(_step_row(rank) for rank in summary.ranks),
        frozenset(range(10)),
    )
    yield Paragraph(
        "Measured: without warm-up and without steps that compiled, failed, were profiled, or through which "
        "perftui slept. A dash was not measured.",
        quiet=True,
    )
    measured = [rank for rank in summary.ranks if rank.step_ms]
    if measured:
        yield Heading(3, "Where a step's time goes")
        yield ShareBars(tuple((f"rank {rank.rank}", _shares(rank)) for rank in measured))
    yield from _device(summary.ranks)
    yield from _phases(summary.ranks)


def _step_row(rank: RankSummary) -> tuple[str, ...]:
    step = rank.step_ms
    times = (None,) * 4 if step is None else (step.mean, step.p50, step.p90, step.p99)
    return (
        str(rank.rank),
        str(rank.steps),
        str(rank.window_steps),
        *(fine(value) for value in times),
        fine(rank.samples_per_s, 1),
        number(rank.tokens_per_s, ",.0f"),
        rank.loss_not_finite or number(rank.loss, ".4g"),
    )


def _shares(rank: RankSummary) -> tuple[tuple[str, float | None], ...]:
    return tuple((name, getattr(rank.shares, field)) for field, name in _SHARES)


def _device(ranks: list[RankSummary]) -> Iterator[Block]:
    rows = tuple(
        (
            str(rank.rank),
            *(
                fine(value)
                for value in (
                    parts.step_ms,
                    parts.wait_ms,
                    parts.h2d_ms,
                    parts.forward_ms,
                    parts.backward_ms,
                    parts.comm_exposed_ms,
                    parts.optimizer_ms,
                    parts.other_ms,
                )
            ),
            str(parts.sampled_steps),
        )
        for rank in ranks
        if (parts := rank.device_ms.parts) is not None
    )
    if rows:
        yield Heading(3, "A step on the device's own timeline, in ms")
        headings = ("rank", "step", "wait", "copy", "forward", "backward", "comm", "optimizer", "other")
        yield Table((*headings, "sampled steps"), rows, frozenset(range(10)))


def _phases(ranks: list[RankSummary]) -> Iterator[Block]:
    told = tuple(
        f"rank {rank.rank}: "
        + ", ".join(f"{phase} {spent:.1f} s" for phase, spent in _longest(rank.phases_s))
        for rank in ranks
        if rank.phases_s and any(rank.phases_s.values())
    )
    if told:
        yield Heading(3, "Where the run's time went")
        yield Items(told)


def _longest(phases_s: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(((name, s) for name, s in phases_s.items() if s >= 0.05), key=lambda each: -each[1])


def windows(report: RunReport) -> Iterator[Block]:
    """Yield what profiling windows said."""
    profiles = report.summary.profiles
    yield Heading(2, "Profiling windows")
    if not profiles:
        yield Paragraph("None was opened.", quiet=True)
    for profile in profiles:
        yield from _window(profile, report.windows.get(profile.window_id))


def _window(profile: ProfileView, trace: TraceReport | None) -> Iterator[Block]:
    last = profile.start_step + profile.steps - 1
    where = f"steps {profile.start_step} to {last}" if profile.start_step >= 0 else f"{profile.steps} steps"
    yield Heading(3, f"{profile.window_id}: {profile.state}, {where}, opened by {profile.opened_by}")
    if profile.sentence:
        yield Paragraph(profile.sentence)
    notes = [*profile.window_notes, *(_doubts(trace) if trace else ())]
    if notes:
        yield Items(tuple(notes))
    for rank in profile.ranks:
        yield from _window_rank(rank)


def _doubts(trace: TraceReport) -> Iterator[str]:
    """Yield why parts of the trace are not to be believed."""
    yield from trace.notes
    for rank in trace.ranks:
        yield from (f"rank {rank.rank}: {check.text}" for check in rank.trust if check.passed is False)


def _window_rank(rank: ProfileRank) -> Iterator[Block]:
    if rank.reason:
        yield Paragraph(f"Rank {rank.rank}: {rank.state}, {rank.reason}", quiet=True)
    if rank.operators:
        yield Table(
            (f"operator, rank {rank.rank}", "calls", "self CPU ms", "self device ms", "share"),
            tuple(
                (
                    row.name,
                    str(row.count),
                    fine(row.self_cpu_us / 1e3),
                    fine(None if row.self_device_us is None else row.self_device_us / 1e3),
                    percent_or_never(row.share),
                )
                for row in rank.operators[:TOP_ROWS]
            ),
            frozenset(range(1, 5)),
        )
    if rank.kernels:
        yield Table(
            (f"kernel, rank {rank.rank}", "calls", "ms", "of device time"),
            tuple(
                (row.name, str(row.count), fine(row.total_us / 1e3), percent_or_never(row.share))
                for row in rank.kernels[:TOP_ROWS]
            ),
            frozenset(range(1, 4)),
        )
