"""What the commands print for a reader without a dashboard: tables and short paragraphs. Pure."""

from typing import Any

import msgspec

from perftui.ipc.figures import beside, decimals, figure
from perftui.ipc.findings import Finding, nested
from perftui.ipc.run_lines import RunLine
from perftui.ipc.settings import format_value
from perftui.ipc.view import ProfileRank, ProfileView
from perftui.ipc.worker_stacks import WorkerStacks
from perftui.trainer.launch.facts_text import facts_lines
from perftui.trainer.launch.hosts_text import links_lines
from perftui.trainer.launch.phases_text import phase_lines
from perftui.trainer.text_table import NEVER, fine, number, table

_OPERATORS_SHOWN = 20
_FUNCTIONS_SHOWN = 12


def runs_table(lines: list[RunLine], now: float) -> list[str]:
    """Return one line a run."""
    rows = [("RUN", "STATE", "PID", "STARTED", "COMMAND")]
    for line in lines:
        state = line.state_words + (" (trial)" if line.trial else "")
        pid = NEVER if line.pid is None else str(line.pid)
        command = " ".join(line.command)
        rows.append((line.run_id, state, pid, ago(now - line.started), command[:80]))
    return table(rows)


def ago(seconds: float) -> str:
    """Return e.g. `3 min ago`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{max(0.0, seconds):.0f} s ago"


def clock(seconds: float) -> str:
    """Return a duration as 06:01:01, with days where there are any: 1 d 06:01:01."""
    days, rest = divmod(max(0, int(seconds)), 86_400)
    return (f"{days} d " if days else "") + f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def status_text(summary: dict[str, Any]) -> list[str]:
    """Return a summary JSON as a few lines."""
    how = summary["state"]
    if summary["exit_code"] is not None:
        how += f", exit code {summary['exit_code']}"
    if summary["stopped_by"]:
        how += f", stopped by {summary['stopped_by']}"
    lines = [f"{summary['run_id']}: {how}, {clock(summary['elapsed_s'])}"]
    lines.append("command   " + " ".join(summary["command"]))
    if summary["settings"]:
        shown = (f"{name}={format_value(value)}" for name, value in summary["settings"].items())
        lines.append("settings  " + " ".join(shown))
    if summary["ranks"]:
        lines += ["", *_ranks_table(summary["ranks"]), *_device_lines(summary["ranks"])]
        lines += phase_lines(summary["ranks"])
        told = facts_lines(summary["ranks"][0].get("facts") or {})
        whose = [f"of rank {summary['ranks'][0]['rank']}:"] if len(summary["ranks"]) > 1 else []
        lines += ["", *whose, *told] if told else []
    if summary.get("gpus"):
        lines += ["", *_gpus_table(summary["gpus"])]
    lines += _host_lines(summary)
    lines += links_lines(summary.get("links") or [])
    lines += ["", *_finding_lines(summary["findings"])]
    if summary.get("message"):
        lines.append(summary["message"])
    return lines


def _ranks_table(ranks: list[dict[str, Any]]) -> list[str]:
    rows = [("RANK", "STEPS", "ms/STEP", "p99", "WAIT", "SAMPLES/s", "TOKENS/s", "LOSS", "DEVICE")]
    for rank in ranks:
        step = rank["step_ms"] or {}
        wait = rank["shares"]["loader_wait"]
        rows.append(
            (
                str(rank["rank"]),
                str(rank["steps"]),
                fine(step.get("p50"), 1),
                fine(step.get("p99"), 1),
                number(wait, ".0%"),
                fine(rank["samples_per_s"], 1),
                number(rank.get("tokens_per_s"), ",.0f"),
                rank.get("loss_not_finite") or number(rank["loss"], ".4g"),
                rank["device"],
            )
        )
    return table(rows, frozenset(range(8)))


_DEVICE_PARTS = (
    ("wait_ms", "wait"),
    ("h2d_ms", "copy"),
    ("forward_ms", "fwd"),
    ("backward_ms", "bwd"),
    ("comm_exposed_ms", "comm"),
    ("optimizer_ms", "opt"),
    ("other_ms", "other"),
)


def _device_lines(ranks: list[dict[str, Any]]) -> list[str]:
    """Return a step of each rank on its device's own timeline, where it was measured."""
    lines: list[str] = []
    for rank in ranks:
        device = (rank.get("device_ms") or {}).get("parts")
        if device:
            digits = max(1, decimals(device["step_ms"]))
            parts = (
                f"{word} {beside(device[name], digits)}"
                for name, word in _DEVICE_PARTS
                if device.get(name) is not None
            )
            head = f"rank {rank['rank']} device {beside(device['step_ms'], digits)} ms: {' '.join(parts)}"
            lines.append(f"{head} ({device['sampled_steps']} sampled)")
    return ["", *lines] if lines else []


def _host_lines(summary: dict[str, Any]) -> list[str]:
    """Return the host over the training, as far as it was measured."""
    host = summary.get("host_mean") or {}
    cores = [
        f"{number(host.get(name), '.1f')} {what}"
        for name, what in (("run_busy", "by the run"), ("others_busy", "by others"), ("cpus", "usable"))
        if host.get(name) is not None
    ]
    if not cores:
        return []
    parts = ["cores " + ", ".join(cores)]
    for name, what in (("throttled_share", "throttled"), ("cached_read_share", "of reads cached")):
        if host.get(name) is not None:
            parts.append(f"{host[name]:.0%} {what}")
    for name, what in (("pressure_cpu", "cpu"), ("pressure_io", "disk"), ("pressure_memory", "memory")):
        pressure = host.get(name) or {}
        if pressure.get("some") is not None:
            label = "iowait" if pressure["source"] == "iowait" else f"waiting for {what}"
            parts.append(f"{label} {pressure['some']:.0%}")
    return ["", "host      " + " · ".join(parts)]


def _gpus_table(gpus: list[dict[str, Any]]) -> list[str]:
    rows = [("GPU", "RANKS", "SM", "TENSOR", "DRAM", "KERNEL", "MiB", "W", "MHz", "CAPPED", "HOT", "J/STEP")]
    for gpu in gpus:
        held = gpu.get("throttled_share") or {}
        hot = [held[kind] for kind in ("thermal_sw", "thermal_hw") if kind in held]
        rows.append(
            (
                gpu["name"] or gpu["uuid"],
                ",".join(map(str, gpu["ranks"])),
                number(gpu.get("sm_active_share"), ".0%"),
                number(gpu.get("tensor_active_share"), ".0%"),
                number(gpu.get("dram_active_share"), ".0%"),
                number(gpu["utilisation_share"], ".0%"),
                number(gpu["memory_used_mib"], ".0f"),
                number(gpu["power_w"], ".0f"),
                number(gpu["sm_clock_mhz"], ".0f"),
                number(held.get("power_cap"), ".0%"),
                number(max(hot, default=None), ".0%"),
                number(gpu.get("energy_j_per_step"), ".3g"),
            )
        )
    return table(rows, frozenset(range(2, 12)))


def _finding_lines(findings: list[dict[str, Any]]) -> list[str]:
    """Return the findings, each that follows from another indented below it."""
    if not findings:
        return ["no findings"]
    lines: list[str] = []
    found = msgspec.convert(findings, list[Finding])
    busy = any(each.code == "self.contended" and each.severity != "info" for each in found)
    for depth, finding in nested(found):
        margin = "  " * depth
        follows = f"follows from {finding.under}: " if depth else ""
        lines.append(f"{margin}{finding.severity:<8}  {finding.code}: {follows}{finding.sentence}")
        if finding.first_step is not None:
            after = f", after {finding.first_s:.0f} s" if finding.first_s is not None else ""
            lines.append(f"{margin}          first seen at step {finding.first_step:,}{after}")
        lines += [f"{margin}          {words}" for words in _remedy_words(finding, busy=busy)]
    return lines


def _remedy_words(finding: Finding, *, busy: bool) -> list[str]:
    remedy = finding.remedy
    words = [f"not sure: {finding.unsure}"] if finding.unsure else []
    if remedy is None:
        return words
    wanted = " ".join(f"--set {name}={format_value(value)}" for name, value in remedy.set.items())
    made = [f"DataLoader: {remedy.made_at}"] if remedy.made_at else []
    if wanted:
        quiet = ", if the host were quiet" if busy else ""
        bound = f" (at most {remedy.bound:.1f}x{quiet})" if remedy.bound else ""
        slow = [f"slow: {remedy.at}"] if remedy.made_at and remedy.at else []
        return [f"try {wanted}{bound}", *made, *slow, *words]
    place = f" ({remedy.at})" if remedy.at else ""
    return [f"{remedy.advice}{place}", *made, *words] if remedy.advice else words


def profile_text(profile: ProfileView) -> list[str]:
    """Return a profiling window as its sentence and one operator table a rank."""
    lines = [profile.sentence or f"window {profile.window_id}: {profile.state}"]
    lines += [f"note: {note}" for note in profile.window_notes]
    for rank in profile.ranks:
        lines += ["", *_profile_rank(rank)]
    return lines + _worker_lines(profile.worker_stacks)


def _worker_lines(stacks: list[WorkerStacks]) -> list[str]:
    """Return where the loader workers were, taken together by rank: the innermost functions first."""
    lines: list[str] = []
    for rank in sorted({worker.rank for worker in stacks}):
        mine = [worker for worker in stacks if worker.rank == rank]
        samples = sum(worker.samples for worker in mine)
        shares: dict[tuple[str, str, int], float] = {}
        for worker in mine:
            for frame in worker.frames:
                key = (frame.function, frame.file, frame.line)
                shares[key] = shares.get(key, 0.0) + frame.self_share * worker.samples / samples
        ordered = sorted(shares.items(), key=lambda item: -item[1])[:_FUNCTIONS_SHOWN]
        rows = [("FUNCTION", "AT", "SHARE")]
        rows += [
            (name[:50], f"{file}:{line}", f"{share:.1%}") for (name, file, line), share in ordered if share
        ]
        head = f"loader workers of rank {rank}: {len(mine)}, {samples} samples of their stacks"
        lines += ["", head, *table(rows, frozenset((2,)))]
    return lines


def _profile_rank(rank: ProfileRank) -> list[str]:
    head = f"rank {rank.rank}: {rank.state}" + (f" ({rank.reason})" if rank.reason else "")
    if rank.window_ms is not None:
        head += f", window {figure(rank.window_ms, 1)} ms"
    if rank.stall_ms is not None:
        head += f", the training stood still for {rank.stall_ms:.0f} ms"
    if rank.step_ms_before is not None and rank.step_ms_after is not None:
        before, after = figure(rank.step_ms_before, 1), figure(rank.step_ms_after, 1)
        head += f", a step took {before} ms before and {after} ms after"
    if rank.path:
        head += f", trace {rank.path}"
    if rank.snapshot:
        head += f", allocator's history {rank.snapshot} (for pytorch.org/memory_viz)"
    if not rank.operators:
        return [head]
    rows = [("OPERATOR", "CALLS", "SELF CPU ms", "CPU ms", "SELF DEVICE ms", "SHARE")]
    for row in rank.operators[:_OPERATORS_SHOWN]:
        device = None if row.self_device_us is None else row.self_device_us / 1e3
        rows.append(
            (
                row.name[:60],
                str(row.count),
                fine(row.self_cpu_us / 1e3),
                fine(row.cpu_us / 1e3),
                fine(device),
                f"{row.share:.1%}",
            )
        )
    return [head, *table(rows, frozenset(range(1, 6)))]
