"""What a window means, in one sentence that its figures bear out. It says what is, and never what to do."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perftui.ipc.host_work import HostWork
from perftui.ipc.trace_report import (
    CopyFigures,
    GpuShares,
    IdleShares,
    LaunchFigures,
    RankReport,
    SyncFigures,
)
from perftui.trainer.profiling.host_names import is_loader
from perftui.trainer.profiling.thresholds import (
    COMPUTE_BOUND,
    LAUNCH_BOUND_DELAY_US,
    LAUNCH_BOUND_SHORT_SHARE,
    LOSS_LEADS,
    SMALL_COPIES,
    SMALL_COPY_MIB,
)
from perftui.trainer.profiling.undistorted import slowed_by, undistorted
from perftui.trainer.profiling.value_reads import held_by_reads, reads_latency


@dataclass(frozen=True)
class _Loss:
    """A part of the window in which the device did not compute."""

    share: float
    needs: str
    """The figure that must be believed for it."""
    say: Callable[[str], str]
    """From what the window is called."""


def rank_sentence(recorded: RankReport) -> str:
    """Return the sentence for one rank, of a step without the profiler where that is known."""
    report = undistorted(recorded)
    said = _sentence(report)
    factor = slowed_by(recorded, recorded.step_ms_before)
    if report is recorded or factor is None or recorded.step_ms_before is None:
        return said
    before_ms = recorded.step_ms_before
    under = f"{before_ms:.3g} ms, {factor * before_ms:.3g} ms under the profiler"
    return f"{said.removesuffix('.')} (of a step of {under})."


def _sentence(report: RankReport) -> str:
    if report.error is not None:
        return "This trace could not be read."
    if report.gpu is None or report.idle is None:
        return _without_device(report)
    span = _span(report)
    losses = _losses(report, report.gpu, report.idle)
    doubts = {
        figure: check.text for check in report.trust if check.passed is False for figure in check.suppresses
    }
    largest = max(losses, key=lambda loss: loss.share)
    computed = report.gpu.compute_only + report.gpu.overlap
    if "gpu" in doubts:
        return (
            f"What the GPU did cannot be told: {doubts['gpu']}; "
            f"as recorded, it computed for {_percent(computed)} of {span}."
        )
    if largest.share >= LOSS_LEADS:
        if largest.needs in doubts:
            lost = f"was idle for {_percent(report.gpu.idle)}"
            if largest.needs == "comm.exposed":
                lost = f"communicated alone for {_percent(report.gpu.comm_exposed)}"
            return (
                f"The GPU computed for {_percent(computed)} of {span} and {lost}; why cannot be told: "
                f"{doubts[largest.needs]}."
            )
        return f"{largest.say(span)}; the GPU computed for {_percent(computed)}."
    if computed >= COMPUTE_BOUND:
        return f"Compute-bound: the GPU computed for {_percent(computed)} of {span}{_largest_class(report)}."
    said = largest.say("the time")
    return (
        f"The GPU computed for {_percent(computed)} of {span}, and no single loss dominates; the largest: "
        f"{_lowered(said)}."
    )


def report_sentence(
    ranks: Sequence[RankReport], straggler: int | None, waited_share: float | None, each: str = "Rank"
) -> str:
    """Return the sentence for a window: of several ranks the straggler, else the one that computed least.

    A rank of which the trace cannot be believed comes last.
    """
    readable = [rank for rank in ranks if rank.error is None]
    if not readable:
        return "No trace of this window could be read."
    if len(readable) == 1:
        return readable[0].sentence
    about = next((rank for rank in readable if rank.rank == straggler), None)
    if about is not None and waited_share is not None:
        return (
            f"The other ranks waited for rank {straggler} in collectives, {_percent(waited_share)} of the "
            f"window more than it waited itself; on rank {straggler}: {_lowered(about.sentence)}"
        )
    about = min(readable, key=lambda rank: (_doubtful(rank), *_worth(rank)))
    return f"{each} {about.rank} of {len(readable)} recorded: {_lowered(about.sentence)}"


def _doubtful(report: RankReport) -> bool:
    return any(check.passed is False and "gpu" in check.suppresses for check in report.trust)


def _worth(report: RankReport) -> tuple[float, int]:
    if report.gpu is None:
        return 1.0 - (report.loader_share or 0.0), report.rank
    return report.gpu.compute_only + report.gpu.overlap, report.rank


def _losses(report: RankReport, gpu: GpuShares, idle: IdleShares) -> list[_Loss]:
    by_sync, by_copy = report.sync_drained_share or 0.0, report.copy_drained_share or 0.0
    from_pageable = min(_exposed(report, _from_pageable), gpu.mem_exposed)
    to_pageable = min(_exposed(report, _to_pageable), gpu.mem_exposed - from_pageable)
    copying = gpu.mem_exposed - from_pageable - to_pageable
    # The host was ahead there, unless each launch did so little that being one ahead is no help.
    between = (
        0.0 if _launches_too_little(report) else min(report.queued_gap_share or 0.0, idle.launch_latency)
    )
    work = report.host_work or HostWork(computing=0.0, outside=0.0, undrained=0.0)
    asking = idle.host_other + idle.sync_call - by_sync - by_copy - work.undrained
    issuing = max(0.0, asking) + idle.launch_latency - between
    if report.host_waits is not None:  # without its waits the host would be ahead by no more than they take
        by_sync = min(by_sync, report.host_waits.in_operators)
    reading = min(reads_latency(report), issuing)
    by_sync, issuing = by_sync + reading, issuing - reading
    return [
        _Loss(
            idle.loader,
            "idle",
            lambda span: f"The GPU waited for the data loader for {_percent(idle.loader)} of {span}",
        ),
        _Loss(by_sync, "idle", lambda span: _sync(report, by_sync, span)),
        _Loss(issuing, "idle", lambda span: _issuing(report, issuing, span)),
        _Loss(
            work.computing,
            "idle",
            lambda span: (
                f"The GPU was idle for {_percent(work.computing)} of {span} while the host computed, in "
                f"operators on the CPU"
            ),
        ),
        _Loss(
            work.outside,
            "idle",
            lambda span: (
                f"The GPU was idle for {_percent(work.outside)} of {span} while the host was in no operator "
                "for long: the script's own work"
            ),
        ),
        _Loss(
            between,
            "idle",
            lambda span: (
                f"The GPU was idle for {_percent(between)} of {span} in short gaps between kernels that had "
                "been launched before"
            ),
        ),
        _Loss(
            from_pageable + by_copy,
            "gpu",
            lambda span: _pageable(report, from_pageable + by_copy, span, "from", _from_pageable),
        ),
        _Loss(to_pageable, "gpu", lambda span: _pageable(report, to_pageable, span, "to", _to_pageable)),
        _Loss(copying, "gpu", lambda span: _copies(report, copying, span)),
        _Loss(gpu.comm_exposed, "comm.exposed", lambda span: _communication(report, gpu, span)),
        _Loss(
            idle.dependency,
            "idle",
            lambda span: (
                f"The GPU was idle for {_percent(idle.dependency)} of {span} with work launched long before: "
                "it waited for another stream, an event or a collective"
            ),
        ),
    ]


def _worst(syncs: Sequence[SyncFigures]) -> SyncFigures | None:
    """Return the call at whose place the device ran dry for longest: there the wait rather than its copy."""
    idle_us: Counter[tuple[str | None, str | None]] = Counter()
    for sync in syncs:
        idle_us[sync.operator, sync.where] += round(sync.drained_us or 0.0)
    return max(
        syncs,
        key=lambda sync: (idle_us[sync.operator, sync.where], "emcpy" not in sync.call),
        default=None,
    )


def _sync(report: RankReport, share: float, span: str) -> str:
    worst = _worst(report.syncs)
    call = ""
    if worst is not None:
        inside = f" in {worst.operator}" if worst.operator else ""
        where = f" at {worst.where}" if worst.where else ""
        often = f", {worst.per_step:.0f} a step" if worst.per_step and worst.per_step >= 1 else ""
        call = f" ({worst.call}{inside}{where}{often})"
    return f"The GPU ran dry for {_percent(share)} of {span} behind calls that wait for it{call}"


def _issuing(report: RankReport, share: float, span: str) -> str:
    launches = report.launches
    copies = _small_copies(report)
    if copies is not None:
        return (
            f"Many small copies: the GPU was idle for {_percent(share)} of {span} while the host made "
            f"{copies.per_step or 0:.0f} copies to it a step, "
            f"{1024 * (copies.mib or 0) / copies.count:.2g} KiB each on average"
        )
    if launches is not None and _launch_bound(launches) and not held_by_reads(report):
        return (
            f"Launch-bound: the GPU was idle for {_percent(share)} of {span} because the host did not launch "
            f"fast enough; {_percent(launches.short_share)} of the launches did less work than their call "
            "took"
        )
    return (
        f"Host-bound: the GPU was idle for {_percent(share)} of {span} while the host had not yet launched "
        "its next work"
    )


def _launch_bound(launches: LaunchFigures) -> bool:
    return launches.delay_us_p50 < LAUNCH_BOUND_DELAY_US and launches.short_share >= LAUNCH_BOUND_SHORT_SHARE


def _launches_too_little(report: RankReport) -> bool:
    bound = report.launches is not None and _launch_bound(report.launches)
    return bound or _small_copies(report) is not None


def _small_copies(report: RankReport) -> CopyFigures | None:
    """Return the copies to the device that cost their calls rather than their bytes; None: few calls are."""
    small = [
        copies
        for copies in report.memcpy
        if "htod" in copies.kind.lower()
        and (copies.per_step or 0.0) >= SMALL_COPIES
        and copies.mib is not None
        and copies.mib <= SMALL_COPY_MIB * copies.count
    ]
    most = max(small, key=lambda copies: copies.count, default=None)
    calls = report.launches.count if report.launches is not None else None
    return most if most is not None and calls is not None and 2 * most.count > calls else None


def _copies(report: RankReport, share: float, span: str) -> str:
    others = [copies for copies in report.memcpy if not copies.pageable]
    largest = max(others, key=lambda copies: copies.exposed_us, default=None)
    detail = _largest_part([(copies.kind, copies.exposed_us) for copies in others])
    fills = largest is not None and largest.kind.startswith("Memset")
    return f"{'Fills' if fills else 'Copies'} that nothing hid took {_percent(share)} of {span}{detail}"


def _largest_part(parts_us: Sequence[tuple[str, float]]) -> str:
    """Return which of them nothing hid for longest; "" without any."""
    if not parts_us:
        return ""
    name, largest_us = max(parts_us, key=lambda part: part[1])
    most = 2 * largest_us > sum(us for _, us in parts_us)
    return f" ({'most of it' if most else 'the largest part'} {name})"


def _from_pageable(copies: CopyFigures) -> bool:
    return copies.pageable is True and "-> Pageable" not in copies.kind


def _to_pageable(copies: CopyFigures) -> bool:
    return copies.pageable is True and "-> Pageable" in copies.kind


def _exposed(report: RankReport, chosen: Callable[[CopyFigures], bool]) -> float:
    exposed_us = sum(copies.exposed_us for copies in report.memcpy if chosen(copies))
    return report.share_of_devices(exposed_us) or 0.0


def _pageable(
    report: RankReport, share: float, span: str, way: str, chosen: Callable[[CopyFigures], bool]
) -> str:
    largest = max(
        (copies for copies in report.memcpy if chosen(copies)),
        key=lambda copies: copies.exposed_us,
        default=None,
    )
    detail = ""
    if largest is not None:
        rate = f" at {largest.gib_s:.1f} GiB/s" if largest.gib_s is not None else ""
        detail = f" ({largest.kind}{rate})"
    return f"Copies {way} pageable memory kept the GPU from computing for {_percent(share)} of {span}{detail}"


def _communication(report: RankReport, gpu: GpuShares, span: str) -> str:
    name = _largest_part([(one.name, one.exposed_us) for one in report.collectives])
    whole = gpu.overlap + gpu.comm_exposed
    hidden = f"; {_percent(gpu.overlap / whole)} of communication was hidden" if whole > 0 else ""
    return f"Communication that no computing hid took {_percent(gpu.comm_exposed)} of {span}{name}{hidden}"


def _largest_class(report: RankReport) -> str:
    largest = next((one for one in report.kernel_classes if one.kind not in ("copy", "communication")), None)
    return (
        "" if largest is None else f"; {largest.kind} kernels took {_percent(largest.share)} of device time"
    )


def _without_device(report: RankReport) -> str:
    failed = next(
        (check for check in report.trust if check.name == "device_events" and not check.passed), None
    )
    span, loader = _span(report), report.loader_share
    if failed is not None and failed.passed is False:
        return f"What the GPU did cannot be told: {failed.text}."
    if loader is not None and loader >= LOSS_LEADS:
        place = "the loader's __next__ in the training thread"
        return f"{_percent(loader)} of {span} went into {place}; {_largest(report)}."
    beside = f"; the loader's __next__ took {_percent(loader)}" if loader is not None else ""
    return f"In {span} {_largest(report)}{beside}."


def _largest(report: RankReport) -> str:
    largest = next((one for one in report.operators if not is_loader(one.name)), None)
    if largest is None:
        return "no operator was recorded"
    return f"the largest operator is {largest.name}, {_percent(largest.share)} of all operators' own time"


def _span(report: RankReport) -> str:
    count = len(report.steps)
    if not count:
        length = "" if report.window_ms is None else f"{report.window_ms:.0f} ms "
        return f"this {length}trace (no step marks)"
    return "this step" if count == 1 else f"these {count} steps"


def _lowered(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:]}"


def _percent(share: float) -> str:
    if 0 < share < 0.01:
        return "under 1 %"
    return f"{share * 100:.0f} %"
