"""Operators, callers, shapes, waits and memory of traces small enough to check by hand."""

from pathlib import Path
from typing import Any

import pytest

from perftui.ipc.trace_report import OPERATOR_LIMIT, OperatorFigures, RankReport
from perftui.trainer.profiling.analysis import analyse_files
from perftui.trainer.profiling.profile_rows import profile_rank
from tests.profiling.conftest import Reporter, TraceWriter
from tests.profiling.trace_maker import LOADER, Event, event, mark, op, step


def memory(ts: float, size: int, total: int, device_type: int = 1) -> Event:
    """Return an allocation, or with a negative size a free."""
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "name": "[memory]",
        "ts": ts,
        "args": {"Bytes": size, "Total Allocated": total, "Device Type": device_type},
    }


def host_steps() -> list[Event]:
    """Two steps of 100 µs; 70 µs of the first and 50 µs of the second are a fetch."""
    return [
        step(4, 1000, 100),
        step(5, 1100, 100),
        mark(LOADER, 1000, 70),
        op("aten::stack", 1010, 20),
        mark(LOADER, 1100, 50),
        op("aten::linear", 1070, 20),
        op("aten::addmm", 1075, 10),
        op("aten::linear", 1150, 30),
        op("aten::addmm", 1155, 20),
        op("aten::linear", 1300, 99),  # after the last step
    ]


def by_name(report: RankReport) -> dict[str, OperatorFigures]:
    return {row.name: row for row in report.operators}


def test_nested_operators_lose_their_children_s_time(reported: Reporter) -> None:
    report = reported(host_steps())
    rows = by_name(report)
    linear = rows["aten::linear"]
    assert (linear.count, linear.self_us, linear.total_us) == (2, 20.0, 50.0)
    assert (linear.self_device_us, linear.device_us, linear.host_per_device) == (None, None, None)
    assert linear.share == pytest.approx(20 / 170)
    assert (rows["aten::addmm"].self_us, rows["aten::addmm"].total_us) == (30.0, 30.0)
    assert [(one.caller, one.count) for one in rows["aten::addmm"].callers] == [("aten::linear", 2)]
    assert [(one.caller, one.count) for one in linear.callers] == [("(top level)", 2)]
    assert (rows[LOADER].count, rows[LOADER].self_us, rows[LOADER].total_us) == (2, 100.0, 120.0)
    assert not [name for name in rows if name.startswith("ProfilerStep")]


def test_steps_loader_and_no_device(reported: Reporter) -> None:
    report = reported(host_steps())
    assert report.window_ms == pytest.approx(0.2)
    assert report.loader_share == pytest.approx(0.6)
    assert (report.gpu, report.idle, report.kernels, report.launches, report.hta) == (
        None,
        None,
        [],
        None,
        None,
    )
    assert [(one.step, one.start_us, one.duration_us) for one in report.steps] == [(4, 0, 100), (5, 100, 100)]
    assert [one.loader_share for one in report.steps] == [0.7, 0.5]
    assert [one.device_busy_share for one in report.steps] == [None, None]


def test_rows_of_dashboards(reported: Reporter) -> None:
    """The share is of the window, and the loader's row is among those shown however many there are."""
    row = profile_rank(reported(host_steps())).operators[0]
    assert (row.name, row.share) == (LOADER, 100 / 200)
    events = [step(1, 0, 10_000), mark(LOADER, 9000, 1)]
    events += [op(f"aten::op{number}", number * 10, 5) for number in range(100)]
    shown = profile_rank(reported(events))
    assert (len(shown.operators), shown.operators[-1].name) == (60, LOADER)
    assert (shown.state, shown.device_busy_share, shown.window_ms) == ("done", None, 10.0)


def test_threads_do_not_contain_each_other(reported: Reporter) -> None:
    rows = by_name(
        reported(
            [
                op("aten::conv2d", 0, 100, tid=1),
                op("aten::mm", 10, 50, tid="autograd 2"),
                op("aten::mm", 20, 10, tid="autograd 2"),
            ]
        )
    )
    assert rows["aten::conv2d"].self_us == 100.0
    mm = rows["aten::mm"]
    assert (mm.count, mm.self_us) == (2, 50.0)
    assert mm.total_us == 50.0, "an operator inside its namesake must not count twice"


def device_steps() -> list[Event]:
    """Two steps of 100 µs whose kernels run late: the second of them ends 60 µs after the last step."""
    return [
        step(1, 0, 100),
        step(2, 100, 100),
        event("gpu_user_annotation", "ProfilerStep#1", 40, 400, tid=7),
        op("aten::linear", 10, 40, **{"External id": 11}),
        op("aten::addmm", 15, 30, **{"External id": 12}),
        event("cuda_runtime", "cudaLaunchKernel", 20, 5, correlation=901, **{"External id": 12}),
        event("kernel", "gemm", 60, 80, tid=7, correlation=901, **{"External id": 12}),
        op("aten::relu", 110, 10, **{"External id": 13}),
        event("cuda_runtime", "cudaLaunchKernel", 112, 5, correlation=902, **{"External id": 13}),
        event("kernel", "relu", 200, 60, tid=7, correlation=902, **{"External id": 13}),
        # launched in a step by a call outside of all operators; its number is that of a stranger
        event("cuda_runtime", "cudaMemcpyAsync", 130, 5, correlation=11, **{"External id": 11}),
        event("gpu_memcpy", "Memcpy HtoD", 150, 20, tid=8, correlation=11, **{"External id": 11}),
        # launched before the trace began
        event("kernel", "stray", 0, 10, tid=7, correlation=800),
        # no launch in the trace, but an operator is named
        event("kernel", "gemm", 20, 10, tid=7, correlation=801, **{"External id": 13}),
    ]


def test_kernels_belong_to_the_operator_that_launched_them(reported: Reporter) -> None:
    report = reported(device_steps())
    assert report.window_ms == pytest.approx(0.26)
    assert report.gpu is not None
    assert 1 - report.gpu.idle == pytest.approx((10 + 10 + 80 + 20 + 60) / 260)
    rows = by_name(report)
    assert (rows["aten::linear"].self_device_us, rows["aten::linear"].device_us) == (0.0, 80.0)
    assert (rows["aten::addmm"].self_device_us, rows["aten::addmm"].device_us) == (80.0, 80.0)
    assert rows["aten::addmm"].host_per_device == pytest.approx(30 / 80)
    assert rows["aten::relu"].self_device_us == 70.0
    assert rows["aten::relu"].share == pytest.approx(70 / 150)
    kernels = {row.name: (row.count, row.total_us, row.kind) for row in report.kernels}
    assert kernels == {
        "gemm": (2, 90.0, "gemm"),
        "relu": (1, 60.0, "other"),
        "stray": (1, 10.0, "other"),
        "Memcpy HtoD": (1, 20.0, "copy"),
    }
    assert report.kernels[0].share == pytest.approx(90 / 180)
    assert [(one.step, one.device_busy_share) for one in report.steps] == [(1, 0.6), (2, 0.6)]


def test_shapes_and_stacks(reported: Reporter) -> None:
    shapes: dict[str, Any] = {"Input Dims": [[8, 4], [4, 2]]}
    events = [
        step(1, 0, 100),
        event("python_function", "train.py(12): main", 0, 100),
        event("python_function", "train.py(30): loss_of", 10, 60),
        event("python_function", "torch/nn/modules/module.py(1773): _call_impl", 11, 58),
        event("python_function", "<built-in method item of Tensor object at 0x7f>", 12, 56),
        op("aten::mm", 15, 10, 1, **shapes),
        op("aten::mm", 30, 20, 1, **shapes),
        op("aten::mm", 80, 5, 1, **{"Input Dims": [[1, 4], [4, 2]]}),
        op("aten::item", 52, 10),
        event("cuda_runtime", "cudaStreamSynchronize", 53, 8, correlation=5),
        event("cuda_runtime", "cudaLaunchKernel", 16, 2, correlation=6),
        event("kernel", "gemm", 20, 30, tid=7, correlation=6),
    ]
    report = reported(events)
    mm = by_name(report)["aten::mm"]
    assert [(one.shapes, one.count, one.self_us, one.device_us) for one in mm.shapes] == [
        ("[[8, 4], [4, 2]]", 2, 30.0, 30.0),
        ("[[1, 4], [4, 2]]", 1, 5.0, 0.0),
    ]
    assert [(one.caller, one.count, one.total_us, one.device_us) for one in mm.callers] == [
        ("train.py:30 loss_of", 2, 30.0, 30.0),
        ("train.py:12 main", 1, 5.0, 0.0),
    ]
    (sync,) = report.syncs
    assert (sync.call, sync.operator, sync.where) == (
        "cudaStreamSynchronize",
        "aten::item",
        "train.py:30 loss_of",
    )
    assert (sync.count, sync.per_step, sync.total_us) == (1, 1.0, 8.0)
    assert sync.share == pytest.approx(0.08)


def test_copies_allocator_and_compilation(reported: Reporter) -> None:
    events = [
        step(1, 0, 1000),
        step(2, 1000, 1000),
        op("aten::copy_", 10, 200),
        event("cuda_runtime", "cudaMemcpyAsync", 20, 150, correlation=1),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 30, 100, tid=7, correlation=1, bytes=1 << 20),
        event("cuda_runtime", "cudaLaunchKernel", 75, 5, correlation=2, tid=2),
        event("kernel", "gemm", 80, 70, tid=9, correlation=2),
        event("cuda_runtime", "cudaMalloc", 400, 90, correlation=3),
        event("cuda_runtime", "cudaFree", 500, 60, correlation=4),
        event("cuda_runtime", "cudaMallocHost", 600, 60, correlation=5),
        op("compile_fx_inner (dynamo_timed)", 1000, 300),
        op("inner (dynamo_timed)", 1100, 100),
        op("Torch-Compiled Region: 0/0", 1400, 200),
        mark("Optimizer.step#SGD.step", 1700, 100),
        memory(5, 3 << 20, 5 << 20),
        memory(1005, 1 << 20, 6 << 20),
        memory(1500, -(1 << 20), 5 << 20),
        memory(1501, 1 << 30, 1 << 30, device_type=0),
    ]
    report = reported(events)
    (copy,) = report.memcpy
    assert (copy.kind, copy.pageable, copy.count, copy.total_us) == (
        "HtoD (Pageable -> Device)",
        True,
        1,
        100.0,
    )
    assert (copy.exposed_us, copy.mib, copy.per_step, copy.call_us) == (50.0, 1.0, 0.5, 150.0)
    assert copy.gib_s == pytest.approx((1 << 20) / (1 << 30) / 100e-6)
    assert report.syncs[0].call == "cudaMemcpyAsync", "from pageable memory it blocks"
    allocator = report.allocator
    assert allocator is not None
    assert (allocator.device_allocations, allocator.device_frees, allocator.total_us) == (1, 1, 150.0)
    assert (allocator.peak_mib, allocator.allocated_mib_per_step) == (6.0, 2.0)
    assert report.compile is not None
    assert (report.compile.compiling_us, report.compile.compiled_share) == (300.0, 0.1)
    assert report.optimizer_share == 0.05
    assert "compiling" in [check.name for check in report.trust if check.passed is False]


def test_what_was_not_recorded_is_not_zero(reported: Reporter) -> None:
    """Memory without calls of a device, steps without a loader, a point without a time."""
    report = reported(
        [step(1, 1000, 500), step(2, 1500, 500), op("aten::mm", 1000, 10), memory(1005, 1 << 20, 1 << 20)]
    )
    allocator = report.allocator
    assert allocator is not None
    assert (allocator.device_allocations, allocator.device_frees, allocator.total_us) == (None, None, None)
    assert (allocator.peak_mib, allocator.allocated_mib_per_step) == (1.0, 0.5)
    assert [one.loader_share for one in report.steps] == [None, None]


def test_memory_without_a_time_is_left_out(reported: Reporter) -> None:
    lost = memory(0, 1 << 30, 1 << 30) | {"ts": "N/A"}
    report = reported([op("aten::mm", 0, 10), lost, memory(5, 1 << 20, 1 << 20)])
    assert report.allocator is not None
    assert report.allocator.peak_mib == 1.0


def test_an_unread_trace_has_no_figures(tmp_path: Path) -> None:
    report = analyse_files([tmp_path / "missing.json"])
    (rank,) = report.ranks
    assert rank.error is not None
    assert (rank.window_ms, rank.events, rank.gpu, rank.loader_share) == (None, None, None, None)


@pytest.mark.parametrize(
    ("kind", "pageable"),
    [
        ("Memcpy HtoD (Pinned -> Device)", False),
        ("Memcpy DtoH (Device -> Pageable)", True),
        ("Memcpy DtoD (Device -> Device)", False),
        ("Memcpy HtoD (Host -> Device)", None),
        ("CopyHostToDevice", None),
        ("Memset (Device)", False),
    ],
)
def test_pageable_by_name(reported: Reporter, kind: str, pageable: bool | None) -> None:
    (copy,) = reported([event("gpu_memcpy", kind, 0, 5, tid=7)]).memcpy
    assert copy.pageable is pageable
    assert (copy.mib, copy.gib_s, copy.call_us, copy.per_step) == (None, None, None, None)


def test_without_marks_the_whole_trace_counts(write_trace: TraceWriter) -> None:
    report = analyse_files([write_trace([op("aten::mm", 100, 3000), op("aten::add", 3100, 1000)])])
    assert report.ranks[0].window_ms == pytest.approx(4.0)
    assert report.notes[0].startswith("no step marks")
    assert report.sentence == (
        "In this 4 ms trace (no step marks) the largest operator is aten::mm, "
        "75 % of all operators' own time."
    )


def test_device_events_alone(reported: Reporter) -> None:
    report = reported([event("kernel", "k", 5, 10), event("kernel", "k", 25, 10)])
    assert report.gpu is not None
    assert report.gpu.compute_only == pytest.approx(20 / 30)
    assert (report.operators, report.launches, report.compile, report.loader_share) == ([], None, None, None)


def test_two_devices_share_the_window(reported: Reporter) -> None:
    """One process, two GPUs: the parts are their mean."""
    report = reported(
        [
            event("kernel", "gemm", 0, 100, tid=7, device=0, stream=7),
            event("kernel", "gemm", 0, 40, tid=7, device=1, stream=7),
        ]
    )
    assert report.gpu is not None
    assert report.gpu.compute_only == pytest.approx(0.7)
    assert [(gap.device, gap.duration_us) for gap in report.gaps] == [(1, 60.0)]


def test_tables_are_bounded(reported: Reporter) -> None:
    report = reported([op(f"aten::op{number}", number * 10, 5) for number in range(OPERATOR_LIMIT + 50)])
    assert len(report.operators) == OPERATOR_LIMIT


def test_several_ranks_in_one_report(tmp_path: Path, write_trace: TraceWriter) -> None:
    calm = write_trace([step(1, 0, 100), op("aten::mm", 10, 80), mark(LOADER, 0, 5)], "rank0.json")
    starved = write_trace(host_steps(), "rank1.json")
    report = analyse_files([calm, starved, tmp_path / "rank2.json"])
    assert report.sentence.startswith("Rank 1 of 2 recorded: 60 % of these 2 steps went into the loader's")
    assert [rank.rank for rank in report.ranks] == [0, 1, 2]
    assert report.ranks[2].error is not None
    assert "rank2.json: No such file" in report.ranks[2].error
    assert (report.waits, report.straggler) == ([], None)
