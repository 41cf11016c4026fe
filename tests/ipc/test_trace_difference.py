"""Two windows compared: per step, the biggest change first, and silence where a window does not tell."""

import msgspec
import pytest

from perftui.ipc.trace_difference import TraceDifference, trace_difference
from perftui.ipc.trace_report import (
    CollectiveFigures,
    CopyFigures,
    GpuShares,
    IdleShares,
    KernelFigures,
    OperatorFigures,
    RankReport,
    StepSpan,
)


def kernel(name: str, total_us: float, kind: str = "gemm") -> KernelFigures:
    return KernelFigures(
        name=name, kind=kind, count=1, total_us=total_us, self_us=total_us, mean_us=total_us, max_us=total_us,
        share=0.5, tensor_cores=None,
    )  # fmt: skip


def operator(name: str, self_us: float) -> OperatorFigures:
    return OperatorFigures(
        name=name, count=1, total_us=self_us, self_us=self_us, device_us=None, self_device_us=None, share=0.5,
        host_per_device=None,
    )  # fmt: skip


def rank(steps: int, **changes: object) -> RankReport:
    base = RankReport(
        rank=0,
        path="t",
        window_ms=10.0 * steps,
        steps=[
            StepSpan(
                step=n, start_us=n * 10_000.0, duration_us=10_000.0, device_busy_share=None, loader_share=0.0
            )
            for n in range(steps)
        ],
        gpu=GpuShares(compute_only=0.8, overlap=0, comm_exposed=0, mem_exposed=0, idle=0.2),
        idle=IdleShares(loader=0.2, sync_call=0, host_other=0, launch_latency=0, dependency=0),
    )
    return msgspec.structs.replace(base, **changes)


def changes(found: TraceDifference) -> list[tuple[str, str, float]]:
    return [(each.kind, each.name, each.change_us_per_step) for each in found.movers]


def test_times_are_per_step_and_the_biggest_change_comes_first() -> None:
    before = rank(
        2, kernels=[kernel("a", 4_000.0), kernel("b", 200.0)], operators=[operator("aten::mm", 60.0)]
    )
    after = rank(
        4, kernels=[kernel("a", 2_000.0), kernel("b", 480.0)], operators=[operator("aten::mm", 120.0)]
    )
    found = trace_difference(before, after)
    assert changes(found)[:2] == [("kernel", "a", -1_500.0), ("kernel", "b", 20.0)]
    assert {change for _, _, change in changes(found)[2:]} == {0.0}
    assert ("step", "whole step", 0.0) in changes(found)
    assert (found.steps_before, found.steps_after) == (2, 4)


def test_what_one_window_lacks_took_no_time_there() -> None:
    found = trace_difference(rank(1, kernels=[kernel("old", 70.0)]), rank(1, kernels=[kernel("new", 90.0)]))
    assert changes(found)[:2] == [("kernel", "new", 90.0), ("kernel", "old", -70.0)]


def test_idle_time_is_told_by_what_was_waited_for() -> None:
    idle = IdleShares(loader=0.05, sync_call=0.1, host_other=0, launch_latency=0, dependency=0)
    found = trace_difference(rank(1), rank(1, idle=idle))
    assert changes(found)[0] == ("idle", "loader", pytest.approx(-1_500.0))
    assert changes(found)[1] == ("idle", "sync_call", pytest.approx(1_000.0))
    assert ("idle", "dependency", 0.0) not in changes(found)


def test_communication_and_copies_are_counted_once() -> None:
    nccl = kernel("ncclDevKernel", 500.0, "communication")
    reduce = CollectiveFigures(name="allreduce", group="0", count=1, total_us=500.0, exposed_us=0.0, mib=None)
    copy = CopyFigures(
        kind="HtoD", pageable=True, count=1, total_us=30.0, mib=None, gib_s=None, exposed_us=0, per_step=1.0
    )
    memcpy = kernel("Memcpy HtoD", 30.0, "copy")
    after = rank(1, kernels=[nccl, memcpy], collectives=[reduce, reduce], memcpy=[copy])
    found = trace_difference(rank(1), after)
    assert changes(found)[:2] == [("communication", "allreduce", 1_000.0), ("copy", "HtoD", 30.0)]
    assert not [each for each in found.movers if each.kind == "kernel"]


def test_a_window_without_a_device_is_compared_by_the_hosts_times_alone() -> None:
    found = trace_difference(
        rank(1, gpu=None, idle=None, operators=[operator("aten::mm", 60.0)]),
        rank(1, kernels=[kernel("a", 9_000.0)], operators=[operator("aten::mm", 20.0)]),
    )
    assert {each.kind for each in found.movers} == {"step", "operator"}
    assert "no device events" in found.notes[0]


def test_without_steps_nothing_is_said() -> None:
    found = trace_difference(rank(0), rank(2, kernels=[kernel("a", 1.0)]))
    assert found.movers == []
    assert "in the window before" in found.notes[0]
    assert "before and the one after" in trace_difference(rank(0), rank(0)).notes[0]
