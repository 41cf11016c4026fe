"""The timeline file: lanes, classes, nesting, and its bound."""

from pathlib import Path

import pytest

from perftui.ipc.trace_report import TraceTimeline
from perftui.trainer.profiling.host_figures import step_spans
from perftui.trainer.profiling.subject import prepare
from perftui.trainer.profiling.timeline import SPAN_LIMIT, timeline
from perftui.trainer.profiling.trace_reader import read_trace
from tests.profiling.conftest import Preparer
from tests.profiling.trace_maker import LOADER, SIDE, STREAM, TraceMaker


def made() -> TraceMaker:
    maker = TraceMaker()
    maker.step()
    maker.add("cpu_op", "aten::linear", maker.now_ns, 9000)
    maker.add("cpu_op", "aten::addmm", maker.now_ns + 1000, 7000)
    maker.kernel(10_000, "sgemm", correlation=maker.launch(maker.now_ns + 2000))
    maker.now_ns += 12_000
    maker.communicate(5000)
    maker.copy(3000)
    maker.idle(loader=8000, sync_call=2000)
    maker.add("cpu_op", "aten::mm", maker.now_ns - 5000, 1000, tid="autograd")
    maker.end_step()
    return maker


def drawn(timeline: TraceTimeline, lane: int) -> list[tuple[str, str, int, int, int]]:
    columns = timeline.lanes[lane]
    return [
        (timeline.names[name], timeline.classes[name], start, duration, depth)
        for name, start, duration, depth in zip(
            columns.name, columns.start_ns, columns.duration_ns, columns.depth, strict=True
        )
    ]


def test_lanes(prepared: Preparer) -> None:
    subject = prepared(made())
    shown = timeline(subject, step_spans(subject))
    assert [(lane.kind, lane.title) for lane in shown.lanes] == [
        ("stream", f"GPU 0 stream {STREAM}"),
        ("stream", f"GPU 0 stream {SIDE}"),
        ("thread", "thread 100"),
        ("thread", "thread autograd"),
    ]
    assert drawn(shown, 0) == [
        ("sgemm", "gemm", 0, 10_000, 0),
        ("Memcpy HtoD (Pinned -> Device)", "copy", 17_000, 3000, 0),
        ("after", "other", 30_000, 2000, 0),
    ]
    assert drawn(shown, 1) == [("ncclDevKernel_AllReduce_Sum_f32", "communication", 12_000, 5000, 0)]
    assert drawn(shown, 2)[:4] == [
        ("ProfilerStep#1", "step", 0, 32_000, 0),
        ("aten::linear", "operator", 0, 9000, 1),
        ("aten::addmm", "operator", 1000, 7000, 2),
        ("cudaLaunchKernel", "call", 2000, 1000, 3),
    ]
    assert (LOADER, "loader", 20_000, 8000, 1) in drawn(shown, 2)
    assert ("cudaStreamSynchronize", "sync", 28_000, 2000, 1) in drawn(shown, 2)
    assert (shown.window_ns, shown.left_out, [step.step for step in shown.steps]) == (32_000, 0, [1])


@pytest.mark.parametrize("limit", [0, 1, 5, 9, 100])
def test_the_longest_are_kept(prepared: Preparer, limit: int) -> None:
    subject = prepared(made())
    shown = timeline(subject, [], limit)
    durations = sorted(duration for lane in shown.lanes for duration in lane.duration_ns)
    everything = sorted(duration for lane in timeline(subject, []).lanes for duration in lane.duration_ns)
    assert len(durations) <= limit
    assert len(durations) + shown.left_out == len(everything)
    assert durations == everything[len(everything) - len(durations) :]


def test_a_real_trace_fits(trace_folder: Path) -> None:
    subject = prepare(read_trace(trace_folder / "hta_dlrm8_a100_rank3_control.json.gz"))
    shown = timeline(subject, step_spans(subject))
    spans = sum(len(lane.name) for lane in shown.lanes)
    assert spans <= SPAN_LIMIT
    assert shown.left_out == 0
    assert spans > 70_000
    for lane in shown.lanes:
        assert lane.start_ns == sorted(lane.start_ns)
        assert len({len(lane.name), len(lane.start_ns), len(lane.duration_ns), len(lane.depth)}) == 1
