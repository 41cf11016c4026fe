"""The newest window's report reaches the rules, and what it refines."""

from pathlib import Path

import msgspec

from perftui.ipc.trace_report import GpuShares, IdleShares, RankReport, StepSpan, TraceReport
from perftui.ipc.view import ProfileView
from perftui.ipc.worker_stacks import WorkerStacks
from perftui.trainer.hub.newest_window import NewestWindow, WindowSeen
from perftui.trainer.hub.run_signals import signals_of
from tests.hub.made_messages import batch, folded, hello


def _view(number: int, path: Path | None, *, state: str = "done") -> ProfileView:
    return ProfileView(
        window_id=str(number),
        state=state,  # type: ignore[arg-type]
        start_step=10,
        steps=3,
        requested_unix=0.0,
        report_path=None if path is None else str(path),
        worker_stacks=[WorkerStacks(rank=0, pid=1, number=0, samples=10)],
    )


def _written(folder: Path, name: str, sentence: str) -> Path:
    path = folder / f"{name}.report.json"
    ranks = [RankReport(rank=0, path="trace.json", sentence=sentence)]
    path.write_bytes(msgspec.json.encode(TraceReport(sentence=sentence, ranks=ranks)))
    return path


def test_the_newest_report_that_can_be_read(tmp_path: Path) -> None:
    newest = NewestWindow(tmp_path)
    first, second = _written(tmp_path, "a", "first"), _written(tmp_path, "b", "second")
    assert newest.of([]) is None
    assert newest.of([_view(1, None), _view(2, first, state="failed")]) is None
    seen = newest.of([_view(1, first), _view(2, second)])
    assert seen is not None
    assert (seen.report.sentence, len(seen.worker_stacks)) == ("second", 1)
    gone = newest.of([_view(1, first), _view(2, tmp_path / "nowhere.report.json")])
    assert gone is not None
    assert gone.report.sentence == "first"


def test_a_recording_that_was_moved_keeps_its_reports(tmp_path: Path) -> None:
    _written(tmp_path, "a", "moved")
    seen = NewestWindow(tmp_path).of([_view(1, Path("/somewhere/else/a.report.json"))])
    assert seen is not None
    assert seen.report.sentence == "moved"


def test_each_rank_gets_its_own_part(tmp_path: Path) -> None:
    fold = folded(hello(), batch(0, 40, seq=1))
    window = NewestWindow(tmp_path).of([_view(1, _written(tmp_path, "a", "this"))])
    (rank,) = signals_of(fold, window=window).ranks
    assert rank.report is not None
    assert rank.report.sentence == "this"
    assert [each.samples for each in rank.worker_stacks] == [10]
    (unseen,) = signals_of(fold).ranks
    assert (unseen.report, unseen.worker_stacks) == (None, ())


def test_the_rules_see_a_window_as_it_is_without_the_profiler() -> None:
    """A GPU that works half of a window that took twice as long works all the time."""
    steps = [
        StepSpan(step=n, start_us=0, duration_us=20_000, device_busy_share=0.5, loader_share=0.0)
        for n in (1, 2)
    ]
    idle = IdleShares(loader=0.0, sync_call=0.0, host_other=0.5, launch_latency=0.0, dependency=0.0)
    busy = GpuShares(compute_only=0.5, overlap=0.0, comm_exposed=0.0, mem_exposed=0.0, idle=0.5)
    report = RankReport(
        rank=0, path="t", window_ms=40.0, steps=steps, step_ms_before=10.0, gpu=busy, idle=idle
    )
    seen = WindowSeen(TraceReport(sentence="", ranks=[report]), ())
    (rank,) = signals_of(folded(hello(), batch(0, 40, seq=1)), window=seen).ranks
    assert rank.report is not None
    assert rank.report.gpu is not None
    assert (rank.report.gpu.compute_only, rank.report.gpu.idle) == (1.0, 0.0)
