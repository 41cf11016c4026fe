"""The difference of two reports: per step, the biggest movers first."""

from pathlib import Path

import msgspec
import pytest

from perftui.ipc.trace_difference import rank_difference
from perftui.ipc.trace_report import OPERATOR_LIMIT, RankReport, TraceReport
from perftui.tui.report_shelf import ReportShelf
from perftui.tui.trace_reading import windows_compared
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


def of_categories(maker: TraceMaker, *categories: str) -> list[Event]:
    """Return what is left of a trace where only some kinds of events were recorded."""
    maker.end_step()
    return [one for one in maker.events if one["cat"] in categories]


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


def test_only_a_rank_that_both_windows_could_read_is_compared(reported: Reporter, tmp_path: Path) -> None:
    base = reported(made(2, 1000, "k"))

    def written(name: str, *ranks: int, broken: int | None = None) -> Path:
        rows = [
            RankReport(rank=rank, path="x", error="cut off")
            if rank == broken
            else RankReport(rank=rank, path="x", gpu=base.gpu, steps=base.steps, window_ms=base.window_ms)
            for rank in ranks
        ]
        path = tmp_path / name
        path.write_bytes(msgspec.json.encode(TraceReport(ranks=rows)))
        return path

    shelf, before, after = ReportShelf(), written("before", 0, 1, 2), written("after", 3, 2, 1, 0, broken=1)
    told = [windows_compared(shelf, before, after, rank) for rank in range(4)]
    assert [one.why for one in told] == ["", "cut off", "", "rank 3 is not in both windows"]
    assert [one.found and one.found.rank for one in told] == [0, None, 2, None]
    assert all(mover.change_us == 0 for one in told if one.found for mover in one.found.parts)


def test_a_window_without_a_gpu_tells_nothing_of_one(reported: Reporter) -> None:
    """A trace that has only the host's events does not say that the GPU did nothing."""
    with_gpu = reported(made(2, 500_000, "k"))
    without = reported(of_categories(made(2, 500_000, "k"), "user_annotation", "cpu_op"))
    assert (with_gpu.gpu is None, without.gpu is None) == (False, True)
    lost = rank_difference(with_gpu, without)
    gained = rank_difference(without, with_gpu)
    for one in (*lost.parts, *lost.idle, *lost.kernels):
        assert one.before_us is not None
        assert (one.after_us, one.change_us, one.after_count) == (None, None, None)
    for one in (*gained.parts, *gained.idle, *gained.kernels):
        assert one.after_us is not None
        assert (one.before_us, one.change_us, one.before_count) == (None, None, None)
    assert [one.name for one in lost.parts] == [one.name for one in gained.parts]
    assert lost.parts[0].name == "idle"  # what is not known is in order of what is
    assert "after: nothing was recorded on a GPU, so what it did there is not known" in lost.notes
    assert "before: nothing was recorded on a GPU, so what it did there is not known" in gained.notes
    assert {one.name: one.change_us for one in lost.operators} == dict.fromkeys(
        (one.name for one in with_gpu.operators), 0.0
    )


def test_windows_without_a_gpu_have_no_device_rows(reported: Reporter) -> None:
    report = reported([op("aten::mm", 0, 10)])
    found = rank_difference(report, report)
    assert (found.parts, found.idle, found.kernels) == ([], [], [])
    assert [note for note in found.notes if "GPU" in note] == []


def test_what_a_cut_list_lacks_is_not_known(reported: Reporter) -> None:
    """A report has the costliest operators: one that is missing there may have taken a little."""
    many = reported([op(f"aten::op{number}", number * 10, 5) for number in range(OPERATOR_LIMIT + 1)])
    few = reported([op("aten::other", 0, 7), op("aten::op1", 10, 5)])
    movers = {one.name: one for one in rank_difference(many, few).operators}
    assert (movers["aten::other"].before_us, movers["aten::other"].change_us) == (None, None)
    assert (movers["aten::op2"].after_us, movers["aten::op2"].change_us) == (0, -5)
    assert "before: only the costliest operators and kernels are in the report" in (
        rank_difference(many, few).notes
    )


def test_without_operators_they_are_not_known(reported: Reporter) -> None:
    """A profile of the device alone has no operators; that does not make them free."""
    alone = reported(of_categories(made(2, 500_000, "k"), "kernel", "cuda_runtime"))
    found = rank_difference(reported(made(2, 500_000, "k")), alone)
    assert len(found.operators) > 0
    assert [one.after_us for one in found.operators] == [None] * len(found.operators)
    assert "after: no operator was recorded, so what they took there is not known" in found.notes
