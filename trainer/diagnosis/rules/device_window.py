"""`sync.each_step`, `launch.bound`: host against device, mostly from a profiling window.

Without a window the host's clock cannot tell a wait for the device that costs something from one that does
not: on a busy GPU the host is ahead, and waits somewhere.
"""

from collections.abc import Iterator

from perftui.ipc.findings import Evidence, Finding, Remedy, Severity
from perftui.ipc.trace_report import RankReport, SyncFigures
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.changed_results import OTHER_BATCH
from perftui.trainer.diagnosis.device_idle import by_launches, by_waits, own_syncs
from perftui.trainer.diagnosis.device_waits import wait_place, wait_share
from perftui.trainer.diagnosis.evidence import number, offered, percent, share, step
from perftui.trainer.diagnosis.own_lines import before_model_share
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.emptied_cache import cache_emptied
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.trusted import trusted
from perftui.trainer.profiling.value_reads import held_by_reads, launched_reads

_SETTLED = "a profile window"

_READ_LESS = (
    "read the loss every n-th step only, or keep it on the device and read it later (.detach(), one .item() "
    "for many); no print, .cpu() or mask indexing in each step"
)
_READ_AT_ONCE = (
    "read all values at once (one .tolist() or .cpu() of the whole tensor, before the loop over them), or "
    "keep them on the device; what is only logged every n-th step"
)
_AS_GRAPHS = (
    'an experiment: torch.compile(mode="reduce-overhead") (CUDA graphs), or a larger batch (elsewhere, on an '
    "H200 with a slow CPU, ResNet-50 at batch 16 went from 23.0 to 5.2 ms, and 28.2 ms in the default mode)"
)
_IN_GRAPHS = (
    "CUDA graphs are in use already: what is left is Python between them (the optimizer, guards, the "
    "script's own lines), or too little work in each: a larger batch"
)


def on_gpu(case: Case) -> Iterator[tuple[RankSignals, RankReport | None]]:
    """Give the ranks that use a GPU, with what their newest window says."""
    for rank in case.ranks:
        if rank.device.startswith("cuda"):
            yield rank, rank.report


def sync(case: Case) -> Iterator[Finding | Abstention]:
    """Judge calls that make the GPU idle because the host waits for it."""
    for rank, report in on_gpu(case):
        found = cache_emptied(case, rank) or _sync(case, rank, report)
        if found is not None:
            yield found
        if isinstance(found, Finding):
            return


def _sync(case: Case, rank: RankSignals, report: RankReport | None) -> Finding | Abstention | None:
    sound = trusted(report, "sync.each_step")
    if sound is None or sound.idle is None:
        return _sync_by_looks(case, rank)
    return _sync_by_window(case, rank, sound)


def _sync_by_window(case: Case, rank: RankSignals, report: RankReport) -> Finding | None:
    policy = case.policy
    cost = by_waits(rank, report, policy)
    if cost < policy.sync_share or not case.paced_by(rank, "host"):
        return None
    worst = max(own_syncs(report), key=_idle_and_long, default=None)
    place = wait_place(rank)
    at = worst.where if worst is not None and worst.where else place.at if place is not None else None
    return _sync_finding(
        case,
        rank,
        cost,
        "critical" if cost >= policy.sync_critical else "warning",
        sentence=f"The GPU idles {percent(cost)} of the time because the host stops to wait for it"
        f"{_what(worst, at)}, and has nothing queued when it goes on.",
        evidence=[
            number("GPU idle for calls that wait for it", cost, "share", len(report.steps)),
            *_calls(report, worst),
            step(rank),
        ],
        advice=_READ_AT_ONCE if held_by_reads(report) else _READ_LESS,
        at=at,
        unsure=None,
    )


def _sync_by_looks(case: Case, rank: RankSignals) -> Finding | Abstention | None:
    """Judge by looks at the training thread beside the GPU's own counters.

    The host waits and the GPU idles, in turn: neither is ahead of the other. At most the smaller of the two
    can be saved.
    """
    policy, gpu = case.policy, case.gpu(rank)
    waits = wait_share(rank, policy)
    if waits is None or gpu is None or gpu.graphics_share is None or not gpu.window_steps:
        return Abstention("sync.each_step", "which calls wait for the GPU was not seen", _SETTLED, rank.rank)
    cost = min(waits, 1 - gpu.graphics_share)
    if case.paces[rank.rank].pacer != "host" or cost < policy.sync_looks:
        return None
    place = wait_place(rank)
    where = "" if place is None else f", mostly at {place.at}"
    return _sync_finding(
        case,
        rank,
        cost,
        "warning",
        sentence=f"The training thread waits for the GPU {percent(waits)} of the time{where}, and the GPU "
        f"idles {percent(1 - gpu.graphics_share)} of it: they take turns instead of working side by side.",
        evidence=[
            number("looks that found it waiting for the GPU", waits, "share"),
            number("GPU with work", gpu.graphics_share, "share", gpu.window_steps),
            step(rank),
        ],
        advice=_READ_LESS,
        at=None if place is None else place.at,
        unsure="a profile window measures how long the GPU idles after such calls",
    )


def _sync_finding(
    case: Case,
    rank: RankSignals,
    cost: float,
    severity: Severity,
    *,
    sentence: str,
    evidence: list[Evidence],
    advice: str,
    at: str | None,
    unsure: str | None,
) -> Finding:
    return Finding(
        code="sync.each_step",
        severity=severity,
        share=cost,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=sentence,
        evidence=evidence,
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2),
            advice=advice,
            at=at,
            caution="the gain ends where the GPU's own work begins: it may be smaller",
        ),
        unsure=unsure,
    )


def _idle_and_long(each: SyncFigures) -> tuple[float, float]:
    return each.drained_us or 0.0, each.total_us


def _what(worst: SyncFigures | None, at: str | None) -> str:
    if worst is None:
        return ""
    where = f" at {at}" if at else ""
    return f" ({worst.operator or worst.call}{where})"


def _calls(report: RankReport, worst: SyncFigures | None) -> list[Evidence]:
    if worst is None:
        return []
    shown = [number(f"time in {worst.operator or worst.call}", worst.total_us / 1e3, "ms", len(report.steps))]
    if worst.per_step is not None:
        shown.append(number("such calls a step", worst.per_step, "", len(report.steps)))
    if held_by_reads(report) and report.launches is not None:
        reads = launched_reads(report) / report.launches.count
        shown.append(number("launches that are reads of values", reads, "share", len(report.steps)))
    return shown


def launch(case: Case) -> Iterator[Finding | Abstention]:
    """Judge a GPU that waits for the host to launch its kernels."""
    for rank, report in on_gpu(case):
        if (case.wait(rank) or 0.0) >= case.policy.wait_warning:
            continue
        sound = trusted(report, "launch.bound")
        found = _by_window(case, rank, sound) if sound is not None else _by_readings(case, rank)
        if found is not None:
            yield found
            return


def _by_window(case: Case, rank: RankSignals, report: RankReport) -> Finding | None:
    launches, policy = report.launches, case.policy
    if launches is None or report.idle is None:
        return None
    if _mostly_copies(report, launches.count):
        return None
    sound = trusted(report, "sync.each_step")
    if sound is not None and held_by_reads(sound) and _sync_by_window(case, rank, sound) is not None:
        return None  # that says it, and graphs would not help
    cost = by_launches(rank, report, policy)
    if cost < policy.launch_idle or launches.delay_us_p50 >= policy.launch_delay_us:
        return None
    if launches.short_share < policy.launch_short:
        return None
    top = [each.name for each in report.operators if not each.name.startswith("##")][:3]
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
        in_graphs=launches.graph_launches > 0,
    )


def _mostly_copies(report: RankReport, launches: int) -> bool:
    """Tell whether most of what is launched are copies to the device: then it is these that are too many."""
    return 2 * sum(each.count for each in report.memcpy if "htod" in each.kind.lower()) > launches


def _by_readings(case: Case, rank: RankSignals) -> Finding | Abstention | None:
    gpu, pace = case.gpu(rank), case.paces[rank.rank]
    if gpu is None or gpu.graphics_share is None or not gpu.window_steps:
        return Abstention(
            "launch.bound", "whether the GPU waits for launches was not measured", _SETTLED, rank.rank
        )
    if pace.pacer != "host" or (rank.cpu_share or 0.0) < 0.9:
        return None
    cost = 1 - gpu.graphics_share - _not_launching(case, rank)
    if cost < case.policy.launch_idle:
        return None
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


def _not_launching(case: Case, rank: RankSignals) -> float:
    """Return the share of the step in which the host waits for the GPU, copies to it, or makes a batch.

    Copies to it stand before the model's call as well: the larger of both counts.
    """
    waits, times = wait_share(rank, case.policy) or 0.0, rank.device_ms
    copying = times is not None and times.h2d_ms is not None and times.step_ms > 0
    copies = times.h2d_ms / times.step_ms if copying else 0.0  # type: ignore[union-attr, operator]
    return waits + max(copies, before_model_share(rank, case.policy))


def _launch_finding(
    rank: RankSignals,
    cost: float,
    severity: Severity,
    *,
    many: bool,
    sentence: str,
    evidence: list[Evidence],
    unsure: str | None,
    in_graphs: bool = False,
) -> Finding:
    advice = _IN_GRAPHS if in_graphs else _AS_GRAPHS
    fitting = _same_shapes(rank) and not in_graphs
    return Finding(
        code="launch.bound",
        severity=severity,
        share=min(1.0, cost),
        rank=rank.rank if many else None,
        sentence=sentence,
        evidence=evidence,
        remedy=Remedy(
            set=offered(rank, {"compile.mode": "reduce-overhead"}) if fitting else {},
            bound=round(1 / (1 - min(cost, 0.95)), 2),
            advice=advice,
            semantics="numeric",
            caution=OTHER_BATCH
            if in_graphs
            else f"compiling takes time, and changing shapes compile again; {OTHER_BATCH}",
        ),
        unsure=unsure,
    )


def _same_shapes(rank: RankSignals) -> bool:
    """Tell whether all batches that were looked at have one shape: CUDA graphs want that."""
    batch = rank.facts.batch
    return batch is None or batch.distinct_shapes <= 1
