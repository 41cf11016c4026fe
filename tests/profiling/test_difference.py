"""The difference of two reports: per step, the biggest movers first."""

import pytest

from perftui.ipc.trace_difference import rank_difference, report_difference
from perftui.ipc.trace_report import RankReport, TraceReport
from tests.profiling.conftest import Reporter
from tests.profiling.trace_maker import Event, TraceMaker, op


def made(steps: int, loader_ns: int, kernel: str) -> TraceMaker:
    maker = TraceMaker()
    for _ in range(steps):
        maker.step()
        maker.compute(100_000)
        maker.compute(20_000, kernel)
        maker.idle(loader=loader_ns)
    return maker


def test_per_step_and_biggest_first(reported: Reporter) -> None:
    """Twice as many steps after, so only figures by step may be compared."""
    before, after = reported(made(2, 500_000, "old")), reported(made(4, 100_000, "new"))
    found = rank_difference(before, after)
    assert found.per == "step"
    assert [found.total.before_us, found.total.after_us] == pytest.approx([622, 222])
    assert found.parts[0].name == "idle"
    assert found.parts[0].change_us == pytest.approx(-400)
    assert [one.name for one in found.parts[1:]] == ["comm_exposed", "compute_only", "mem_exposed", "overlap"]
    assert found.idle[0].name == "loader"
    assert found.idle[0].change_us == pytest.approx(-400)
    assert [(one.name, one.before_us, one.after_us) for one in found.kernels] == [
        ("new", 0, 20),
        ("old", 20, 0),
        ("after", 2, 2),
        ("gemm", 100, 100),
    ]
    assert [(one.before_count, one.after_count) for one in found.kernels[:2]] == [(0, 1), (1, 0)]
    assert found.operators[0].name.startswith("enumerate(DataLoader)")
    assert found.operators[0].change_us == pytest.approx(-400)
    assert found.notes == []


def test_without_marks_it_is_per_window(reported: Reporter) -> None:
    def report(self_us: float) -> RankReport:
        events: list[Event] = [op("aten::mm", 0, self_us), op("aten::add", 1000, 5)]
        return reported(events)

    found = rank_difference(report(100), report(300))
    assert (found.per, found.parts, found.idle, found.kernels) == ("window", [], [], [])
    assert [(one.name, one.change_us) for one in found.operators] == [("aten::mm", 200), ("aten::add", 0)]
    assert found.notes == [
        "without step marks in both, times are those of the windows, whatever their lengths"
    ]


def test_doubts_are_carried_over(reported: Reporter) -> None:
    found = rank_difference(reported(made(1, 1000, "k")), reported(made(2, 1000, "k")))
    assert found.notes == ["before: 1 complete step"]


def test_ranks_in_both(reported: Reporter) -> None:
    base = reported(made(2, 1000, "k"))

    def report(*ranks: int, broken: int | None = None) -> TraceReport:
        return TraceReport(
            ranks=[
                RankReport(rank=rank, path="x", error="cut off")
                if rank == broken
                else RankReport(rank=rank, path="x", gpu=base.gpu, steps=base.steps, window_ms=base.window_ms)
                for rank in ranks
            ]
        )

    found = report_difference(report(0, 1, 2), report(3, 2, 1, 0, broken=1))
    assert [one.rank for one in found] == [0, 2]
    assert all(mover.change_us == 0 for one in found for mover in one.parts)
