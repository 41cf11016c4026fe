"""The simulated trainings: a real hub hears them, the rules find what is in them, a replay opens them."""

from pathlib import Path

import msgspec
import pytest

from benchmarks.simulator.job import Job
from benchmarks.simulator.live import simulated
from benchmarks.simulator.recordings import entries_of, write_recording
from benchmarks.simulator.scenarios import SCENARIOS, Pace, Scenario
from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.findings import Finding
from perftui.ipc.recording import read_recording
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.judge import Judge
from perftui.trainer.launch.replay import summary_of_recording
from tests.conftest import RuntimeDirs

UNIX = 1_000_000.0


def judged(scenario: Scenario, ranks: int) -> tuple[RunFold, list[Finding]]:
    job = Job(run_id="made-up", ranks=ranks, steps_per_s=20.0, scenario=scenario, began_ns=int(UNIX * 1e9))
    fold, judge, judged_unix = RunFold(), Judge(), UNIX
    for entry in entries_of(job, 12.0):
        fold.apply(entry)
        if entry.unix - judged_unix >= 1.0:
            judged_unix = entry.unix
            judge.look(fold, entry.unix, began_s=UNIX)
    return fold, judge.findings


@pytest.mark.parametrize(
    ("scenario", "code", "rank"),
    [
        ("healthy", None, None),
        ("straggler", "rank.straggler_compute", 2),
        ("slow-loader", "rank.straggler_input", 2),
        ("loader-bound", "input.workers", None),
    ],
)
def test_the_rules_find_what_was_put_in(scenario: Scenario, code: str | None, rank: int | None) -> None:
    fold, findings = judged(scenario, 8)
    costly = [finding for finding in findings if finding.severity != "info"]
    if code is None:
        assert costly == []
    else:
        assert (costly[0].code.split(".")[0], costly[0].rank) == (code.split(".")[0], rank)
        assert any(finding.code == code for finding in findings), [finding.code for finding in findings]
    assert (fold.strangers, [track.lost_frames for track in fold.ordered]) == (0, [0] * 8)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_parts_of_a_step_are_its_length(scenario: Scenario) -> None:
    for rank in range(6):
        pace = Pace(scenario, rank, 6, 0.2)
        for step in range(200):
            parts = pace.parts(step)
            known = parts.wait_ns + parts.forward_ns + parts.backward_ns + parts.optimizer_ns
            assert 0.97 * parts.wall_ns <= known <= 1.02 * parts.wall_ns
            assert 0 <= parts.comm_ns <= parts.backward_ns
            assert parts == pace.parts(step)
    if scenario != "uneven":
        assert len({Pace(scenario, rank, 6, 0.2).parts(7).wall_ns for rank in range(6)}) == 1


def test_a_real_hub_hears_every_rank_over_its_own_socket(runtime_dirs: RuntimeDirs) -> None:
    job = Job(run_id="made-up", ranks=5, steps_per_s=20.0, scenario="straggler")
    with simulated(job) as simulation:
        simulation.wait(3.0)
        link = DashboardLink(simulation.places.dashboard_socket)
        try:
            update = link.snapshot(10.0)
        finally:
            link.close()
        places = simulation.places
    assert [view.rank for view in update.view.ranks] == [0, 1, 2, 3, 4]
    assert all(view.steps > 10 and view.lost_frames == 0 for view in update.view.ranks)
    assert update.view.header.world_size == 5
    assert not places.state.exists()
    assert not places.runtime.exists()


def test_a_recording_is_the_same_messages_and_replays(runtime_dirs: RuntimeDirs, tmp_path: Path) -> None:
    job = Job(run_id="made-up", ranks=3, steps_per_s=20.0)
    size = write_recording(job, tmp_path / "run", 8.0)
    assert size == sum(path.stat().st_size for path in (tmp_path / "run" / "recording").iterdir())
    entries = list(read_recording(tmp_path / "run" / "recording"))
    begun = msgspec.structs.replace(job, began_ns=round(entries[0].unix * 1e9))
    assert len(entries) == len(list(entries_of(begun, 8.0)))
    summary = summary_of_recording(tmp_path / "run")
    assert [rank["steps"] > 100 for rank in summary["ranks"]] == [True] * 3
