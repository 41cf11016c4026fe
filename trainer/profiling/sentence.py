"""What a window means, in one sentence that its figures bear out. It says what is, and never what to do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perftui.ipc.trace_report import CopyFigures, GpuShares, IdleShares, RankReport
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
            return (
                f"The GPU computed for {_percent(computed)} of {span} and was idle for "
                f"{_percent(report.gpu.idle)}; why cannot be told: {doubts[largest.needs]}."
            )
        return f"{largest.say(span)}; the GPU computed for {_percent(computed)}."
    if computed >= COMPUTE_BOUND:
        return f"Compute-bound: the GPU computed for {_percent(computed)} of {span}{_largest_class(report)}."
    said = largest.say("the time")
    return (
        f"The GPU computed for {_percent(computed)} of {span}, and no single loss dominates; the largest: "
        f"{_lowered(said)}."
    )


def report_sentence(ranks: Sequence[RankReport], straggler: int | None, waited_share: float | None) -> str:
    """Return the sentence for a window: of several ranks the straggler, else the rank that computed least."""
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
    about = min(readable, key=_worth)
    return f"Rank {about.rank} of {len(readable)} recorded: {_lowered(about.sentence)}"


def _worth(report: RankReport) -> tuple[float, int]:
    if report.gpu is None:
        return 1.0 - (report.loader_share or 0.0), report.rank
    return report.gpu.compute_only + report.gpu.overlap, report.rank


def _losses(report: RankReport, gpu: GpuShares, idle: IdleShares) -> list[_Loss]:
    by_sync, by_copy = report.sync_drained_share or 0.0, report.copy_drained_share or 0.0
    window_us = max((report.window_ms or 0.0) * 1000, 1e-9)
    pageable = sum(copy.exposed_us for copy in report.memcpy if copy.pageable) / window_us
    pageable = min(pageable, gpu.mem_exposed)
    issuing = max(0.0, idle.host_other + idle.sync_call - by_sync - by_copy) + idle.launch_latency
    reading = reads_latency(report)
    by_sync, issuing = by_sync + reading, issuing - reading
    return [
        _Loss(
            idle.loader,
            "idle",
            lambda span: f"The GPU waited for the data loader for {_percent(idle.loader)} of {span}",
        ),
        _Loss(by_sync, "idle", lambda span: _sync(report, by_sync, span)),
        _Loss(issuing, "idle", lambda span: _issuing(report, issuing, span)),
        _Loss(pageable + by_copy, "gpu", lambda span: _pageable(report, pageable + by_copy, span)),
        _Loss(
            gpu.mem_exposed - pageable,
            "gpu",
            lambda span: f"Copies that nothing hid took {_percent(gpu.mem_exposed - pageable)} of {span}",
        ),
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


def _sync(report: RankReport, share: float, span: str) -> str:
    longest = next((sync for sync in report.syncs if "emcpy" not in sync.call), None)
    longest = longest or next(iter(report.syncs), None)
    call = ""
    if longest is not None:
        inside = f" in {longest.operator}" if longest.operator else ""
        where = f" at {longest.where}" if longest.where else ""
        often = f", {longest.per_step:.0f} a step" if longest.per_step and longest.per_step >= 1 else ""
        call = f" ({longest.call}{inside}{where}{often})"
    return f"The GPU ran dry for {_percent(share)} of {span} behind calls that wait for it{call}"


def _issuing(report: RankReport, share: float, span: str) -> str:
    launches = report.launches
    copies = _small_copies(report)
    if launches is not None and copies is not None and 2 * copies.count > launches.count:
        return (
            f"Many small copies: the GPU was idle for {_percent(share)} of {span} while the host made "
            f"{copies.per_step or 0:.0f} copies to it a step, "
            f"{1024 * (copies.mib or 0) / copies.count:.2g} KiB each on average"
        )
    if (
        launches is not None
        and not held_by_reads(report)
        and launches.delay_us_p50 < LAUNCH_BOUND_DELAY_US
        and launches.short_share >= LAUNCH_BOUND_SHORT_SHARE
    ):
        return (
            f"Launch-bound: the GPU was idle for {_percent(share)} of {span} because the host did not launch "
            f"fast enough; {_percent(launches.short_share)} of the launches did less work than their call "
            "took"
        )
    return (
        f"Host-bound: the GPU was idle for {_percent(share)} of {span} while the host had not yet launched "
        "its next work"
    )


def _small_copies(report: RankReport) -> CopyFigures | None:
    """Return the copies to the device that cost their calls rather than their bytes; None: there are few."""
    small = [
        copies
        for copies in report.memcpy
        if "htod" in copies.kind.lower()
        and (copies.per_step or 0.0) >= SMALL_COPIES
        and copies.mib is not None
        and copies.mib <= SMALL_COPY_MIB * copies.count
    ]
    return max(small, key=lambda copies: copies.count, default=None)


def _pageable(report: RankReport, share: float, span: str) -> str:
    copies = [copy for copy in report.memcpy if copy.pageable]
    detail = ""
    if copies:
        largest = max(copies, key=lambda copy: copy.exposed_us)
        rate = f" at {largest.gib_s:.1f} GiB/s" if largest.gib_s is not None else ""
        detail = f" ({largest.kind}{rate})"
    return f"Copies from pageable memory kept the GPU from computing for {_percent(share)} of {span}{detail}"


def _communication(report: RankReport, gpu: GpuShares, span: str) -> str:
    longest = next(iter(report.collectives), None)
    name = f" (most of it {longest.name})" if longest is not None else ""
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
