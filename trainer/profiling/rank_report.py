"""One rank's part of the report, from its trace. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from perftui.ipc.trace_report import KERNEL_LIMIT, RankReport
from perftui.trainer.profiling.collective_calls import collective_figures
from perftui.trainer.profiling.copy_figures import copy_figures
from perftui.trainer.profiling.device_parts import gpu_shares
from perftui.trainer.profiling.gap_list import gap_list
from perftui.trainer.profiling.host_at import HostAt
from perftui.trainer.profiling.host_figures import compile_figures, loader_share, optimizer_share, step_spans
from perftui.trainer.profiling.host_work import host_waits, host_work
from perftui.trainer.profiling.hta_figures import hta_figures
from perftui.trainer.profiling.idle_gaps import (
    drained_ns,
    drained_share,
    find_gaps,
    idle_shares,
    queued_share,
)
from perftui.trainer.profiling.kernel_table import (
    kernel_classes,
    kernel_table,
    tensor_core_share,
)
from perftui.trainer.profiling.launch_figures import find_launches, launch_figures
from perftui.trainer.profiling.memory_figures import allocator_figures
from perftui.trainer.profiling.operator_table import operator_table
from perftui.trainer.profiling.queue_depth import queue_depths
from perftui.trainer.profiling.sentence import rank_sentence
from perftui.trainer.profiling.sm_figures import occupancy, sm_efficiency
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.trace_events import TraceHead
from perftui.trainer.profiling.trust import trust_checks
from perftui.trainer.profiling.wait_calls import wait_calls


def rank_report(subject: Subject, rank: int, path: str) -> RankReport:
    """Return all figures of one rank; what only a comparison of ranks tells is left None."""
    gaps = find_gaps(subject)
    kernels = kernel_table(subject)
    compiling = compile_figures(subject)
    report = RankReport(
        rank=rank,
        path=path,
        device_name=device_name(subject),
        events=subject.trace.events,
        devices=max(1, len(subject.devices)),
        window_ms=subject.window.length / 1e6,
        steps=step_spans(subject),
        gpu=gpu_shares(subject),
        idle=idle_shares(subject, gaps),
        queued_gap_share=queued_share(subject, gaps),
        sync_drained_share=drained_share(subject, gaps, gaps.sync_drained),
        copy_drained_share=drained_share(subject, gaps, gaps.copy_drained),
        host_waits=host_waits(subject),
        host_work=host_work(subject, gaps),
        loader_share=loader_share(subject),
        optimizer_share=optimizer_share(subject),
        gaps=gap_list(subject, gaps, HostAt(subject)),
        kernels=kernels[:KERNEL_LIMIT],
        kernel_classes=kernel_classes(kernels),
        tensor_core_share=tensor_core_share(kernels),
        sm_efficiency=sm_efficiency(subject),
        occupancy=occupancy(subject),
        operators=operator_table(subject),
        launches=launch_figures(subject, find_launches(subject)),
        queue=queue_depths(subject),
        syncs=wait_calls(subject, drained_ns(subject, gaps)),
        memcpy=copy_figures(subject),
        collectives=collective_figures(subject),
        allocator=allocator_figures(subject),
        compile=compiling,
        trust=trust_checks(subject, gaps, compiling),
        hta=hta_figures(subject),
    )
    report = msgspec.structs.replace(report, notes=_notes(report))
    return msgspec.structs.replace(report, sentence=rank_sentence(report))


def _notes(report: RankReport) -> list[str]:
    """Return what limits the figures."""
    notes = [check.text for check in report.trust if check.passed is False]
    if not report.steps:
        notes.append("no step marks (ProfilerStep#N): figures cover the whole trace, its edges included")
    return notes


def device_name(subject: Subject) -> str | None:
    """Return the name of the device that worked, as the trace's head has it; None where it has none."""
    listed = subject.trace.head.devices
    if not isinstance(listed, list) or not subject.devices:
        return None
    for entry in cast("Sequence[Any]", listed):
        if isinstance(entry, dict):
            known = cast("Mapping[str, Any]", entry)
            if known.get("id") == subject.devices[0] and isinstance(known.get("name"), str):
                return str(known["name"])
    return None


def told(head: TraceHead, field: str) -> int | None:
    """Return `rank`, `world_size` or `pg_count` as a trace names it in `distributedInfo`; None without it."""
    if not isinstance(head.distributed, dict):
        return None
    value = cast("Mapping[str, Any]", head.distributed).get(field)
    return value if isinstance(value, int) and value >= 0 else None
