"""A timeline names what launched each kernel."""

from pathlib import Path

from perftui.ipc.trace_report import TraceTimeline
from perftui.trainer.profiling.analysis import analyse_trace
from tests.profiling.trace_maker import MAIN, TraceMaker


def timeline_of(maker: TraceMaker, folder: Path) -> TraceTimeline:
    kept: list[TraceTimeline] = []

    def keep(_rank: int, timeline: TraceTimeline) -> str | None:
        kept.append(timeline)
        return None

    analyse_trace(maker.write(folder / "trace.json"), 0, keep)
    return kept[0]


def test_each_kernel_has_its_operator_and_the_begin_of_its_launch(tmp_path: Path) -> None:
    maker = TraceMaker(now_ns=1_000_000)
    maker.step()
    begun = maker.now_ns
    maker.add("cpu_op", "aten::mm", begun, 5_000, MAIN)
    correlation = maker.launch(begun + 1_000)
    maker.kernel(9_000, "gemm", at_ns=begun + 20_000, correlation=correlation)
    maker.kernel(3_000, "stranger", at_ns=begun + 40_000, correlation=999)
    maker.now_ns = begun + 60_000
    maker.end_step()
    timeline = timeline_of(maker, tmp_path)
    stream = next(lane for lane in timeline.lanes if lane.kind == "stream")
    assert [timeline.names[name] for name in stream.name] == ["gemm", "stranger"]
    assert stream.caller[1] is None
    assert stream.launched_ns[1] is None
    caller = stream.caller[0]
    assert caller is not None
    assert timeline.names[caller] == "aten::mm"
    launched = stream.launched_ns[0]
    assert launched is not None
    assert stream.start_ns[0] - launched == 19_000
    assert all(lane.caller == lane.launched_ns == [] for lane in timeline.lanes if lane.kind == "thread")
