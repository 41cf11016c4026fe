"""`transfer.*`: copies to the device that the step waits for, by their bytes or by their number."""

from collections.abc import Iterator

from perftui.ipc.findings import Evidence, Finding, Remedy
from perftui.ipc.prerequisites import batches_on_device
from perftui.ipc.trace_report import CopyFigures, RankReport
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.device_idle import staged_share
from perftui.trainer.diagnosis.evidence import number, offered, percent, step
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.device_window import on_gpu
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.trusted import believed, trusted
from perftui.trainer.diagnosis.wait_remedy import setting_name

_WINDOW = "a profile window tells where the copies come from"


def to_device(report: RankReport) -> list[CopyFigures]:
    """Return the copies from the host to the device."""
    return [each for each in report.memcpy if "htod" in each.kind.lower()]


def tiny_copies(report: RankReport | None, policy: Policy) -> CopyFigures | None:
    """Return the copies that are so many and small that they cost their calls; None: there are none."""
    if report is None:
        return None
    tiny = [
        each
        for each in to_device(report)
        if (each.per_step or 0.0) >= policy.small_copies
        and each.mib is not None
        and each.mib / max(1, each.count) <= policy.small_copy_mib
    ]
    return max(tiny, key=lambda each: each.count, default=None)


def pageable(case: Case) -> Iterator[Finding | Abstention]:
    """Judge copies to the device from memory that is not page-locked."""
    for rank, report in on_gpu(case):
        if not case.paced_by(rank, "host", "device"):
            continue
        report = trusted(report, "gpu")
        seen = report is not None and bool(report.memcpy)
        found = _by_window(case, rank, report) if report is not None and seen else _by_events(case, rank)
        if found is not None:
            yield found
            return


def _by_window(case: Case, rank: RankSignals, report: RankReport) -> Finding | None:
    policy = case.policy
    copies = [each for each in to_device(report) if each.pageable]
    steps = max(1, len(report.steps))
    mib = sum(each.mib or 0.0 for each in copies) / steps
    if not copies or not report.window_ms or mib < policy.pageable_mib or tiny_copies(report, policy):
        return None
    exposed = report.share_of_devices(sum(each.exposed_us for each in copies)) or 0.0
    cost = min(1.0, exposed + _waited(report))
    if cost < policy.copy_share:
        return None
    rates = [each.gib_s for each in copies if each.gib_s is not None]
    evidence = [
        number("copies to the device", cost, "share", len(report.steps)),
        number("from pageable memory", mib, "MiB a step", len(report.steps)),
        *([number("their rate", max(rates), "GiB/s", len(report.steps))] if rates else []),
        step(rank),
    ]
    return _pageable_finding(case, rank, cost, evidence, sure=True)


def _waited(report: RankReport) -> float:
    """Return the share of the window in which the GPU idled after copies from pageable memory."""
    if not believed(report, "idle"):
        return 0.0
    return (report.copy_drained_share or 0.0) + staged_share(report)


def _by_events(case: Case, rank: RankSignals) -> Finding | None:
    """Judge by copies that were timed on the device; whether they are from pageable memory is a guess."""
    times, batch, loader = rank.device_ms, rank.facts.batch, rank.loader
    if times is None or times.h2d_ms is None or times.step_ms <= 0:
        return None
    cost = min(1.0, times.h2d_ms / times.step_ms)
    pinned = batch is not None and any(each.pinned for each in batch.newest.tensors)
    if cost < case.policy.copy_share or pinned or (loader is not None and loader.pin_memory):
        return None
    shown = [number("copies to the device", cost, "share", times.sampled_steps), step(rank)]
    sure = loader is not None and not batches_on_device(rank.facts)
    return _pageable_finding(case, rank, cost, shown, sure=sure)


def _pageable_finding(
    case: Case, rank: RankSignals, cost: float, evidence: list[Evidence], *, sure: bool
) -> Finding:
    loader = rank.loader
    made_there = batches_on_device(rank.facts) is True
    unpinned = loader is not None and not loader.pin_memory and not made_there
    by_hand = (
        "the dataset copies its samples one by one: keep them on the CPU, and copy whole batches"
        if made_there
        else "the loader's batches are page-locked, what is copied is not: copy them as they come, or pin "
        "what is made of them (.pin_memory())"
        if loader is not None and loader.pin_memory
        else "batches in page-locked memory (.pin_memory() once, or a DataLoader with pin_memory=True)"
    )
    return Finding(
        code="transfer.pageable",
        severity="critical" if sure and cost >= case.policy.copy_critical else "warning",
        share=cost,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"Copying batches to the GPU takes {percent(cost)} of each step, from memory that is not "
        "page-locked: such copies go by a detour, and the host waits for them."
        if sure
        else f"Copying batches to the GPU takes {percent(cost)} of each step, as it does from memory that is "
        "not page-locked.",
        evidence=evidence,
        remedy=Remedy(
            set=offered(rank, {setting_name(loader, "pin_memory"): True}) if unpinned and loader else {},
            bound=round(1 / (1 - min(cost, 0.99)), 2),
            advice='an experiment, together with .to("cuda", non_blocking=True)'
            if unpinned
            else f'an experiment: {by_hand}, and .to("cuda", non_blocking=True)',
            caution="the step may stay as long: pinning moves the cost to another thread, and takes memory "
            "from the host",
        ),
        unsure=None if sure else _WINDOW,
    )


def many_small(case: Case) -> Iterator[Finding | Abstention]:
    """Judge many tiny copies a step: what they cost is their calls, and the waits that these are."""
    policy = case.policy
    for rank, report in on_gpu(case):
        report = trusted(report, "gpu")
        most = tiny_copies(report, policy)
        if report is None or most is None or not case.paced_by(rank, "host"):
            continue
        exposed = report.share_of_devices(most.exposed_us) or 0.0
        waited = _waited(report) if most.pageable else 0.0
        cost = min(1.0, exposed + waited)
        steps = len(report.steps)
        yield Finding(
            code="transfer.many_small",
            severity="critical"
            if cost >= policy.copy_critical
            else "warning"
            if cost >= policy.copy_share
            else "info",
            share=cost,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"{most.per_step:.0f} small copies to the GPU in each step: each costs a call, and from "
            "pageable memory a wait as well"
            + (
                f"; the GPU idles {percent(cost)} of the time for them." if cost >= policy.copy_share else "."
            ),
            evidence=[
                number("copies a step", most.per_step or 0.0, "", steps),
                number("mean size", 1024 * (most.mib or 0.0) / max(1, most.count), "KiB", steps),
                number("GPU idle for them, and copying", cost, "share", steps),
                step(rank),
            ],
            remedy=Remedy(
                bound=round(1 / (1 - min(cost, 0.99)), 2) if cost >= policy.copy_share else None,
                advice="one tensor for all of them, packed in the dataset or in collate_fn; constants made "
                "on the device once",
            ),
        )
        return
