"""`sync.each_step`, `launch.bound`, `transfer.*`: host against device, mostly from a profiling window.

Without a window the host's clock cannot tell a wait for the device that costs something from one that does
not: on a busy GPU the host is ahead, and waits somewhere.
"""

from collections.abc import Iterator

from perftui.ipc.findings import Evidence, Finding, Remedy, Severity
from perftui.ipc.trace_report import RankReport, SyncFigures
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, offered, percent, share, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.wait_remedy import setting_name

_SETTLED = "a profile window"


def _on_gpu(case: Case) -> Iterator[tuple[RankSignals, RankReport | None]]:
    for rank in case.ranks:
        if rank.device.startswith("cuda"):
            yield rank, rank.report


def believed(report: RankReport, code: str) -> bool:
    """Tell whether no failed check of a trace speaks against a finding."""
    return not any(check.passed is False and code in check.suppresses for check in report.trust)


def sync(case: Case) -> Iterator[Finding | Abstention]:
    """Judge calls that make the GPU idle because the host waits for it."""
    for rank, report in _on_gpu(case):
        if report is None or report.idle is None:
            yield Abstention(
                "sync.each_step", "which calls wait for the GPU was not seen", _SETTLED, rank.rank
            )
            continue
        cost, policy = _drained(report), case.policy
        if cost < policy.sync_share or not believed(report, "sync.each_step"):
            continue
        if not case.paced_by(rank, "host"):
            continue
        worst = max(report.syncs, key=lambda each: each.total_us, default=None)
        yield Finding(
            code="sync.each_step",
            severity="critical" if cost >= policy.sync_critical else "warning",
            share=cost,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"The GPU idles {percent(cost)} of the time because the host stops to wait for it"
            f"{_what(worst)}, and has nothing queued when it goes on.",
            evidence=[
                number("GPU idle in a waiting call", cost, "share", len(report.steps)),
                *_calls(report, worst),
                step(rank),
            ],
            remedy=Remedy(
                bound=round(1 / (1 - min(cost, 0.99)), 2),
                advice="read the loss every n-th step only, or keep it on the device and read it later "
                "(.detach(), one .item() for many); no print, .cpu() or mask indexing in each step",
                at=worst.where if worst is not None else None,
                caution="the gain ends where the GPU's own work begins: it may be smaller",
            ),
        )
        return


def _drained(report: RankReport) -> float:
    """Return the share of the window in which the GPU idled in a waiting call, or for what it had drained."""
    in_call = 0.0 if report.idle is None else report.idle.sync_call
    return max(in_call, report.sync_drained_share or 0.0)


def _what(worst: SyncFigures | None) -> str:
    if worst is None:
        return ""
    where = f" at {worst.where}" if worst.where else ""
    return f" ({worst.operator or worst.call}{where})"


def _calls(report: RankReport, worst: SyncFigures | None) -> list[Evidence]:
    if worst is None:
        return []
    shown = [number(f"time in {worst.operator or worst.call}", worst.total_us / 1e3, "ms", len(report.steps))]
    if worst.per_step is not None:
        shown.append(number("such calls a step", worst.per_step, "", len(report.steps)))
    return shown


def launch(case: Case) -> Iterator[Finding | Abstention]:
    """Judge a GPU that waits for the host to launch its kernels."""
    for rank, report in _on_gpu(case):
        if (case.wait(rank) or 0.0) >= case.policy.wait_warning:
            continue
        found = _by_window(case, rank, report) if report is not None else _by_readings(case, rank)
        if found is not None:
            yield found
            return


def _by_window(case: Case, rank: RankSignals, report: RankReport) -> Finding | None:
    launches, idle, policy = report.launches, report.idle, case.policy
    if launches is None or idle is None or not believed(report, "launch.bound"):
        return None
    # What a waiting call has drained has to be launched anew: that is the call's, not the launches'.
    drained = max(0.0, _drained(report) - idle.sync_call)
    cost = max(0.0, idle.host_other + idle.launch_latency - drained)
    if cost < policy.launch_idle or launches.delay_us_p50 >= policy.launch_delay_us:
        return None
    if launches.short_share < policy.launch_short:
        return None
    top = [each.name for each in report.operators[:3]]
    return _launch_finding(
        rank,
        cost,
        "critical" if cost >= 2 * policy.launch_idle else "warning",
        many=len(case.signals.ranks) > 1,
        sentence=f"The GPU idles {percent(cost)} of the time because the host cannot launch its kernels fast "
        f"enough: {launches.per_step or launches.count:.0f} launches"
        f"{' a step' if launches.per_step else ''}, most shorter on the GPU than the call"
        f"{' (' + ', '.join(top) + ')' if top else ''}.",
        evidence=[
            number("GPU idle for want of launches", cost, "share", len(report.steps)),
            number("kernels shorter than their launch", launches.short_share, "share", len(report.steps)),
            number("median from launch to start", launches.delay_us_p50, "µs", len(report.steps)),
            step(rank),
        ],
        unsure=None,
    )


def _by_readings(case: Case, rank: RankSignals) -> Finding | Abstention | None:
    gpu, pace = case.gpu(rank), case.paces[rank.rank]
    if gpu is None or gpu.graphics_share is None or not gpu.window_steps:
        return Abstention(
            "launch.bound", "whether the GPU waits for launches was not measured", _SETTLED, rank.rank
        )
    if pace.pacer != "host" or (rank.cpu_share or 0.0) < 0.9:
        return None
    cost = 1 - gpu.graphics_share
    return _launch_finding(
        rank,
        cost,
        "warning",
        many=len(case.signals.ranks) > 1,
        sentence=f"The GPU has work {percent(gpu.graphics_share)} of the time only, while the training "
        "thread "
        "computes all the time and is fed: it cannot issue the GPU's work fast enough.",
        evidence=[
            number("GPU with work", gpu.graphics_share, "share", gpu.window_steps),
            share(rank, "CPU of the training thread", rank.cpu_share or 0.0),
            step(rank),
        ],
        unsure="a profile window tells launches from Python of the script's own",
    )


def _launch_finding(
    rank: RankSignals,
    cost: float,
    severity: Severity,
    *,
    many: bool,
    sentence: str,
    evidence: list[Evidence],
    unsure: str | None,
) -> Finding:
    return Finding(
        code="launch.bound",
        severity=severity,
        share=min(1.0, cost),
        rank=rank.rank if many else None,
        sentence=sentence,
        evidence=evidence,
        remedy=Remedy(
            set=offered(rank, {"compile.mode": "reduce-overhead"}) if _same_shapes(rank) else {},
            bound=round(1 / (1 - min(cost, 0.95)), 2),
            advice='an experiment: torch.compile(mode="reduce-overhead") (CUDA graphs), or a larger '
            "batch; on an "
            "H200 with a slow CPU ResNet-50 at batch 16 went from 23.0 to 5.2 ms, and to 28.2 ms with the "
            "default mode",
            semantics="numeric",
            caution="compiling takes time, and changing shapes compile again",
        ),
        unsure=unsure,
    )


def _same_shapes(rank: RankSignals) -> bool:
    """Tell whether all batches that were looked at have one shape: CUDA graphs want that."""
    batch = rank.facts.batch
    return batch is None or batch.distinct_shapes <= 1


def pageable(case: Case) -> Iterator[Finding | Abstention]:
    """Judge copies to the device from memory that is not page-locked."""
    policy = case.policy
    for rank, report in _on_gpu(case):
        cost = _copy_cost(rank, report)
        if cost is None or cost < policy.copy_share or not case.paced_by(rank, "host", "device"):
            continue
        loader, batch = rank.loader, rank.facts.batch
        pinned = batch is not None and any(each.pinned for each in batch.newest.tensors)
        copies = [each for each in report.memcpy if each.pageable] if report is not None else []
        if pinned or (report is not None and report.memcpy and not copies):
            continue
        if loader is None or loader.pin_memory:
            continue
        yield Finding(
            code="transfer.pageable",
            severity="warning",
            share=cost,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"Copying batches to the GPU takes {percent(cost)} of each step, from memory that "
            "is not "
            "page-locked: such copies go by a detour and hide under nothing.",
            evidence=[
                number("copies to the device", cost, "share", rank.window_steps),
                *[
                    number("in the window", each.mib, "MiB", len(report.steps))
                    for each in copies[:1]
                    if each.mib and report
                ],
                step(rank),
            ],
            remedy=Remedy(
                set=offered(rank, {setting_name(loader, "pin_memory"): True}),
                bound=round(1 / (1 - min(cost, 0.99)), 2),
                advice='an experiment, together with .to("cuda", non_blocking=True)',
                caution="the step may stay as long: pinning moves the cost to another thread, and takes "
                "memory "
                "from the host",
            ),
        )
        return


def _copy_cost(rank: RankSignals, report: RankReport | None) -> float | None:
    if report is not None and report.window_ms and report.memcpy:
        exposed = sum(each.exposed_us for each in report.memcpy if "htod" in each.kind.lower())
        return min(1.0, max(exposed / 1e3 / report.window_ms, report.copy_drained_share or 0.0))
    times = rank.device_ms
    if times is not None and times.h2d_ms is not None and times.step_ms > 0:
        return min(1.0, times.h2d_ms / times.step_ms)
    return None


def many_small(case: Case) -> Iterator[Finding | Abstention]:
    """Judge many tiny copies a step."""
    policy = case.policy
    for rank, report in _on_gpu(case):
        if report is None:
            continue
        tiny = [
            each
            for each in report.memcpy
            if "htod" in each.kind.lower()
            and (each.per_step or 0.0) >= policy.small_copies
            and each.mib is not None
            and each.mib / max(1, each.count) <= policy.small_copy_mib
        ]
        if not tiny or not case.paced_by(rank, "host"):
            continue
        most = max(tiny, key=lambda each: each.count)
        cost = min(1.0, most.exposed_us / 1e3 / report.window_ms) if report.window_ms else 0.0
        yield Finding(
            code="transfer.many_small",
            severity="warning" if cost >= policy.copy_share else "info",
            share=cost,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"{most.per_step:.0f} small copies to the GPU in each step: each costs a call, and from "
            "pageable memory a wait as well.",
            evidence=[
                number("copies a step", most.per_step or 0.0, "", len(report.steps)),
                number("mean size", 1024 * (most.mib or 0.0) / max(1, most.count), "KiB", len(report.steps)),
            ],
            remedy=Remedy(
                advice="one tensor for all of them, packed in the dataset or in collate_fn; constants "
                "made on the "
                "device once"
            ),
        )
        return
