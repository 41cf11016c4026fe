"""The parts of a report on what ran: command, versions, hardware, settings. Pure."""

import shlex
import time
from collections.abc import Iterator, Mapping

from perftui.ipc.settings import SettingValue, format_value
from perftui.ipc.summary import RankSummary, Summary
from perftui.ipc.view import HostView
from perftui.trainer.reporting.blocks import Block, Code, Heading, Paragraph, Table, pairs
from perftui.trainer.reporting.run_report import RunReport
from perftui.trainer.text_table import NEVER


def what_ran(report: RunReport) -> Iterator[Block]:
    """Yield the command and what it ran on."""
    summary = report.summary
    yield Heading(2, "What ran")
    yield Code(shlex.join(summary.command))
    yield pairs(
        [
            ("Run", summary.run_id),
            ("State", state_words(summary)),
            ("Started", NEVER if summary.started_unix is None else moment(summary.started_unix)),
            ("Commit", report.commit or f"{NEVER} (the folder's history does not tell where it stood)"),
            ("Versions", _versions(summary)),
            ("Host", _host(summary.host)),
            ("Devices", _devices(summary)),
        ]
    )


def state_words(summary: Summary) -> str:
    """Return how the run stands, or ended."""
    words = [f"{summary.state} for" if summary.exit_code is None else f"{summary.state} after"]
    words.append(duration(summary.elapsed_s))
    if summary.exit_code is not None:
        words.append(f"with exit code {summary.exit_code}")
    if summary.stopped_by:
        words.append(f"(stopped by {summary.stopped_by})")
    return " ".join(words)


def duration(seconds: float) -> str:
    """Return `1:02:03`, or `2:03` below an hour."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def moment(unix: float) -> str:
    """Return a time that means the same everywhere."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(unix))


def _versions(summary: Summary) -> str:
    told = [f"perftui {summary.perftui}"] if summary.perftui else []
    for what, versions in (
        ("Python", {rank.python for rank in summary.ranks}),
        ("torch", {rank.torch for rank in summary.ranks}),
    ):
        told += [f"{what} {version}" for version in sorted(each for each in versions if each)]
    return ", ".join(told) or NEVER


def _host(host: HostView) -> str:
    parts = [host.name]
    if host.cpus is not None:
        parts.append(f"{host.cpus:g} usable cores")
    if host.memory_total_mib is not None:
        parts.append(f"{host.memory_total_mib / 1024:.1f} GiB of memory")
    return ", ".join(parts)


def _devices(summary: Summary) -> str:
    names = {gpu.uuid: gpu.name for gpu in summary.gpus}
    told = [
        f"rank {rank.rank}: {rank.device}"
        + (f" ({names.get(rank.gpu_uuid) or 'GPU'}, {rank.gpu_uuid})" if rank.gpu_uuid else "")
        for rank in summary.ranks
    ]
    return "; ".join(told) or NEVER


def settings(summary: Summary) -> Iterator[Block]:
    """Yield every setting with what was asked for and what is in force."""
    yield Heading(2, "Settings in force")
    ranks = summary.ranks
    failed = {name: reason for rank in ranks for name, reason in rank.settings_failed.items()}
    names = sorted({*summary.settings, *failed, *(name for rank in ranks for name in rank.settings)})
    if not names:
        yield Paragraph("None was asked for, and none was read back.", quiet=True)
        return
    rows = tuple((name, _value(summary.settings, name), _in_force(name, ranks)) for name in names)
    yield Table(("setting", "asked for", "in force"), rows)
    for name, reason in failed.items():
        yield Paragraph(f"{name} could not be applied: {reason}")
    environment = ranks[0].facts.environment if ranks else None
    if environment:
        yield Table(("environment variable", "value"), tuple(sorted(environment.items())))


def _value(told: Mapping[str, SettingValue], name: str) -> str:
    return format_value(told[name]) if name in told else NEVER


def _in_force(name: str, ranks: list[RankSummary]) -> str:
    """Return the value that ranks read back, or which has which where they differ."""
    told = [(rank.rank, _value(rank.settings, name)) for rank in ranks]
    values = {value for _, value in told}
    if len(values) < 2:
        return next(iter(values), NEVER)
    return ", ".join(f"{value} on rank {rank}" for rank, value in told)
