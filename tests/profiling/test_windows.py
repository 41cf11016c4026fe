"""Windows recorded by torch in a real training, in a process of its own."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perftui.ipc.view import ProfileRank
from perftui.trainer.profiling.analysis import analyse_ranks
from perftui.trainer.profiling.profile_rows import profile_rank

pytestmark = [pytest.mark.torch, pytest.mark.slow]

LOOP = "tests.profiling.training_loop"
ROOT = Path(__file__).parents[2]
COSTS = {"prepare", "start", "stop", "stall", "save", "write", "drop"}
"""Without a device there is nothing to drain."""


class Outcome:
    """What a scenario reported, and how its process ended."""

    def __init__(self, scenario: str, folder: Path, **variables: str) -> None:
        command = [sys.executable, "-m", LOOP, scenario, str(folder)]
        environment = os.environ | variables
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=False, env=environment, cwd=ROOT
        )
        self.folder = folder
        self.code = done.returncode
        self.errors = done.stderr
        self.reports: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]

    def states(self, window_id: str) -> list[str]:
        return [report["state"] for report in self.reports if report.get("id") == window_id]

    def last(self, window_id: str) -> dict[str, Any]:
        return [report for report in self.reports if report.get("id") == window_id][-1]


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One training through all windows that it survives."""
    outcome = Outcome("lasting", tmp_path_factory.mktemp("lasting"), RANK="3")
    assert outcome.code == 0, outcome.errors
    return outcome


def test_windows_in_a_row(lasting: Outcome) -> None:
    outcome, folder = lasting, lasting.folder / "windows"
    assert outcome.states("first") == ["armed", "warming", "recording", "saving", "done"]
    assert outcome.states("second") == ["armed", "warming", "recording", "saving", "done"]
    assert outcome.states("meanwhile") == ["busy"]
    assert outcome.states("late") == ["late"]
    assert outcome.states("soon") == ["armed", "warming", "recording", "saving", "done"]

    first, second = outcome.last("first"), outcome.last("second")
    assert first["path"] == str(folder / "rank3_step4_n3_first.pt.trace.json.gz")
    assert second["path"] == str(folder / "rank3_step13_n2_second.pt.trace.json.gz")
    assert set(first["cost_ms"]) == COSTS
    stalls = [first["cost_ms"][part] for part in ("prepare", "start", "stop")]
    assert first["cost_ms"]["stall"] == pytest.approx(sum(stalls))
    assert first["cost_ms"]["write"] + first["cost_ms"]["drop"] <= first["cost_ms"]["save"]
    soon = outcome.last("soon")
    assert soon["path"] == str(folder / "rank3_step19_n2_soon.pt.trace.json.gz")
    assert sorted(folder.iterdir()) == sorted(Path(each["path"]) for each in (first, second, soon))

    assert marks(Path(first["path"])) == ["ProfilerStep#4", "ProfilerStep#5", "ProfilerStep#6"]
    assert marks(Path(second["path"])) == ["ProfilerStep#13", "ProfilerStep#14"]
    assert marks(Path(soon["path"])) == ["ProfilerStep#19", "ProfilerStep#20"]
    on_gpu = outcome.reports[0]["device"] == "cuda"
    check_table(Path(first["path"]), 3, on_gpu=on_gpu)
    check_table(Path(second["path"]), 2, on_gpu=on_gpu)


def trace_of(path: Path) -> dict[str, Any]:
    trace: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return trace


def marks(path: Path) -> list[str]:
    events = trace_of(path)["traceEvents"]
    names = [event["name"] for event in events if event.get("cat") == "user_annotation"]
    return sorted(
        (name for name in names if name.startswith("ProfilerStep#")), key=lambda name: (len(name), name)
    )


def analysed(path: Path) -> ProfileRank:
    return profile_rank(analyse_ranks([(0, path)]).ranks[0])


def check_table(path: Path, steps: int, *, on_gpu: bool) -> None:
    shown = analysed(path)
    rows = {row.name: row for row in shown.operators}
    loader = rows["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"]
    assert loader.count == steps, "each step holds exactly its own fetch"
    assert rows["Optimizer.step#SGD.step"].count == steps
    assert rows["aten::conv2d"].count == steps
    assert rows["aten::convolution_backward"].count == steps
    assert rows["aten::sqrt"].count == steps * 4, "the dataset's operators run inside the fetch"
    device_us = rows["aten::conv2d"].device_us
    assert (device_us is not None and device_us > 0) if on_gpu else device_us is None
    assert bool(shown.kernels) == on_gpu
    assert shown.loader_share is not None
    assert 0 < shown.loader_share < 1


def test_windows_that_end_early_leave_the_training_alone(lasting: Outcome) -> None:
    outcome, folder = lasting, lasting.folder / "endings"
    assert outcome.states("dropped") == ["armed", "cancelled"]
    assert outcome.states("dropped_warm") == ["armed", "warming", "cancelled"]
    assert outcome.last("dropped_warm")["reason"] == "cancelled"
    assert outcome.states("dropped_late") == ["armed", "warming", "recording", "cancelled"]
    assert outcome.states("unwritable")[-1] == "failed"
    assert "Not a directory" in outcome.last("unwritable")["reason"]
    assert outcome.states("passed") == ["armed", "late"]
    assert outcome.states("unkept")[-1] == "done"
    assert outcome.last("unkept")["path"] is None
    after = outcome.last("after")
    assert after["state"] == "done"
    assert sorted(path.name for path in folder.iterdir()) == ["file", Path(after["path"]).name]


def test_what_records_ends_where_a_validation_begins(lasting: Outcome) -> None:
    whole = ["armed", "warming", "recording", "saving"]
    assert lasting.states("before") == [*whole, "done"]
    assert lasting.states("within") == [*whole, "truncated"]
    within = lasting.last("within")
    assert (within["steps"], within["reason"]) == (2, "a validation began after 2 of 5 steps")
    first = within["start"]
    assert marks(Path(within["path"])) == [f"ProfilerStep#{first}", f"ProfilerStep#{first + 1}"]
    assert lasting.states("whole") == [*whole, "done"]
    assert lasting.last("whole")["reason"] is None
    assert lasting.states("at_once") == ["armed", "warming", "recording", "aborted"]


def test_a_capture_that_kineto_ended_is_called_truncated(lasting: Outcome) -> None:
    full = lasting.last("full")
    assert (full["state"], full["steps"]) == ("truncated", 2)
    assert full["reason"] == "the profiler's buffers on the device were full after 2 of 5 steps"
    assert len(marks(Path(full["path"]))) == 2


def test_events_are_counted_in_the_trace(lasting: Outcome) -> None:
    for window in ("first", "shapes", "stacks", "within"):
        report = lasting.last(window)
        spans = [event for event in trace_of(Path(report["path"]))["traceEvents"] if event["ph"] == "X"]
        assert report["events"] == len(spans)


def test_time_limits(lasting: Outcome) -> None:
    outcome = lasting
    overlong = outcome.last("overlong")
    assert (overlong["state"], overlong["steps"]) == ("truncated", 1)
    assert overlong["reason"] == "ended by the limit of 0 s with 1 of 50 steps"
    assert marks(Path(overlong["path"])) == [f"ProfilerStep#{overlong['start']}"]
    assert outcome.states("long_step") == ["armed", "warming", "recording", "aborted"]
    assert "took longer than the limit of 0 s" in outcome.last("long_step")["reason"]


def test_a_limit_is_held_where_the_training_comes_by_no_hook(lasting: Outcome) -> None:
    assert lasting.states("unhooked") == ["armed", "warming", "recording", "aborted"]
    assert "took longer than the limit" in lasting.last("unhooked")["reason"]
    (found,) = [report for report in lasting.reports if report["state"] == "unhooked"]
    assert (found["ended_inside"], found["profiling"]) == (True, False)
    assert lasting.states("hooked")[-1] == "done"


def test_many_windows_neither_grow_nor_differ(tmp_path: Path) -> None:
    outcome = Outcome("many", tmp_path)
    assert outcome.code == 0, outcome.errors
    windows = [report for report in outcome.reports if report["state"] == "done"]
    assert len(windows) == 20
    events = {window["events"] for window in windows}
    assert len(events) == 1
    memory = [report["mib"] for report in outcome.reports if report["state"] == "memory"]
    assert memory[-1] - memory[4] < 20


def test_presets(lasting: Outcome) -> None:
    outcome = lasting
    traces = {
        preset: trace_of(Path(outcome.last(preset)["path"])) for preset in ("shapes", "memory", "stacks")
    }
    categories = {
        preset: {event.get("cat") for event in trace["traceEvents"]} for preset, trace in traces.items()
    }
    convolution = next(event for event in traces["shapes"]["traceEvents"] if event["name"] == "aten::conv2d")
    assert convolution["args"]["Input Dims"][0] == [4, 3, 16, 16]
    assert "python_function" in categories["stacks"]
    assert "cpu_instant_event" in categories["memory"]
    assert "python_function" not in categories["shapes"] | categories["memory"]
    for preset in traces:
        shown = {row.name for row in analysed(Path(outcome.last(preset)["path"])).operators}
        assert shown > {"aten::conv2d", "Optimizer.step#SGD.step"}


def test_the_script_s_own_profiler_has_the_right_of_way(tmp_path: Path) -> None:
    outcome = Outcome("script_profiler", tmp_path)
    assert outcome.code == 0, outcome.errors
    assert outcome.states("before") == ["armed", "busy"]
    assert outcome.states("during") == ["busy"]
    assert outcome.states("overtaken") == ["armed", "warming", "recording", "aborted"]
    assert [report["events"] for report in outcome.reports if report["state"] == "script"] == [5, 2]
    assert list(tmp_path.iterdir()) == []


def test_older_profilers_have_it_too(tmp_path: Path) -> None:
    outcome = Outcome("older_profilers", tmp_path)
    assert outcome.code == 0, outcome.errors
    assert outcome.states("overtaken") == ["armed", "warming", "recording", "aborted"]
    assert outcome.states("during") == ["busy"]
    assert outcome.states("afterwards")[-1] == "done"


def test_a_capture_that_is_only_prepared_is_known(tmp_path: Path) -> None:
    outcome = Outcome("prepared_before", tmp_path)
    assert outcome.code == 0, outcome.errors
    assert outcome.states("early") == ["busy"]
    assert [report["events"] for report in outcome.reports if report["state"] == "script"] == [2]
    assert outcome.states("afterwards")[-1] == "done"


def test_a_raise_inside_a_window_stays_the_script_s_own(tmp_path: Path) -> None:
    outcome = Outcome("raising", tmp_path)
    assert outcome.code == 1
    assert "ZeroDivisionError: the script's own mistake" in outcome.errors
    assert outcome.states("raised") == ["armed", "warming", "recording", "aborted"]
    assert outcome.last("raised")["reason"] == "the process ended inside the window"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scenario", ["ending", "ending_warm", "ending_beside", "ending_spawned", "threaded"])
def test_the_process_may_end_inside_a_window(tmp_path: Path, scenario: str) -> None:
    outcome = Outcome(scenario, tmp_path)
    assert outcome.code == 0, outcome.errors
    assert outcome.states("ended")[-1] == "aborted"
    assert list(tmp_path.iterdir()) == []


def test_a_shutdown_from_another_thread_waits_for_the_training_s_boundary(lasting: Outcome) -> None:
    outcome = lasting
    assert outcome.states("told") == ["armed", "warming", "recording", "aborted"]
    assert outcome.last("told")["reason"] == "the probe gave up"
    assert outcome.states("told_after")[-1] == "done"
