"""Profiling windows as a user meets them: by schedule, on ranks, beside workers, in a training that dies."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from perftui.ipc.places import run_places
from perftui.trainer.telemetry.processes import tagged_pids
from perftui.trainer.telemetry.py_spy import find_py_spy
from tests.e2e.conftest import Desk
from tests.e2e.scripts import STARVED
from tests.waiting import wait_until

pytestmark = [pytest.mark.torch, pytest.mark.slow]

RANKS = """
import sys, time
from pathlib import Path
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
capture = None
if rank == 1:
    capture = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    capture.start()
stop = Path(sys.argv[1])
steps = 0
while True:
    optimizer.zero_grad()
    model(torch.randn(4, 16)).sum().backward()
    optimizer.step()
    steps += 1
    time.sleep(0.01)
    wanted = torch.tensor([float(stop.exists())])
    dist.all_reduce(wanted)
    if wanted.item():
        break
if capture is not None:
    capture.stop()
    seen = sum(event.key == "Optimizer.step#SGD.step" for event in capture.events() or [])
    print(f"capture {seen} of {steps}\\n", end="", flush=True)
dist.destroy_process_group()
"""
WORKERS = """
import sys, time
import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)

def decode(index):
    until = time.perf_counter() + 0.01
    while time.perf_counter() < until:
        sum(range(500))
    return torch.full((16,), float(index))

class Pictures(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        return decode(index), index % 4

if __name__ == "__main__":
    model = torch.nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, labels in DataLoader(Pictures(), 4, num_workers=2, multiprocessing_context=sys.argv[1]):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
"""
SLOW_STEPS = """
import time, torch
model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100_000):
    optimizer.zero_grad()
    model(torch.randn(4, 16)).sum().backward()
    optimizer.step()
    time.sleep(0.01 if step < 20 else 3.0)
"""


def profile(desk: Desk, run_id: str, *options: str) -> dict[str, Any]:
    done = desk.perftui("profile", run_id, "--json", *options)
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.long
def test_a_schedule_opens_windows_by_itself(desk: Desk, tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    script = desk.script(STARVED)
    options = ["--profile-every", "40:2", "--profile-most", "2", "--json", str(summary)]
    command = [sys.executable, str(script), "400", "0", "0.01"]
    done = desk.perftui("run", "--no-tui", *options, "--", *command)
    assert done.returncode == 0, done.stderr
    found = json.loads(summary.read_text())
    windows = found["profiles"]
    assert [window["state"] for window in windows] == ["done", "done"]
    assert [window["opened_by"] for window in windows] == [
        f"every 40 steps (window {number} of at most 2)" for number in (1, 2)
    ]
    assert [window["steps"] for window in windows] == [2, 2]
    assert found["ranks"][0]["steps"] == 400


def test_a_bounded_run_takes_one_look_and_its_summary_waits_for_it(desk: Desk, tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    script = desk.script(STARVED)
    command = [sys.executable, str(script), "1000000", "0", "0.005"]
    done = desk.perftui("run", "--no-tui", "--seconds", "12", "--json", str(summary), "--", *command)
    assert done.returncode == 0, done.stderr
    found = json.loads(summary.read_text())
    assert found["stopped_by"] == "seconds"
    (window,) = found["profiles"]
    assert window["state"] == "done", window
    assert window["opened_by"].startswith("one look")
    assert 1 <= window["steps"] <= 3
    assert window["sentence"]
    assert Path(window["report_path"]).exists()


@pytest.mark.long
def test_without_a_window_a_bounded_run_has_none(desk: Desk, tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    command = [sys.executable, str(desk.script(STARVED)), "1000000", "0", "0.005"]
    options = ["--seconds", "10", "--no-window", "--json", str(summary)]
    done = desk.perftui("run", "--no-tui", *options, "--", *command)
    assert done.returncode == 0, done.stderr
    assert json.loads(summary.read_text())["profiles"] == []


def test_a_word_that_makes_no_sense_starts_nothing(desk: Desk) -> None:
    refused = desk.perftui("run", "--no-tui", "--profile-on-jump", "much", "--", "true")
    assert refused.returncode == 2
    assert "such as 30%" in refused.stderr
    assert desk.runs() == []


def test_a_rank_with_a_profiler_of_its_own_is_named_and_the_others_go_on(desk: Desk, tmp_path: Path) -> None:
    script, stop = desk.script(RANKS), tmp_path / "stop"
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=3"]
    training = desk.start("run", "--no-tui", "--", sys.executable, *launcher, str(script), str(stop))
    run_id = desk.live_run()
    wait_until(
        lambda: len(desk.status(run_id).get("ranks", [])) == 3 and desk.steps(run_id) > 20, "all train"
    )
    window = profile(desk, run_id)
    assert window["state"] == "done"
    assert [rank["state"] for rank in window["ranks"]] == ["done", "busy", "done"]
    assert window["window_notes"] == ["rank 1: busy: the script's own torch.profiler is active"]
    traces = [Path(rank["path"]).name for rank in window["ranks"] if rank["path"]]
    starts = {int(name.split("_step")[1].split("_")[0]) for name in traces}
    assert starts == {window["start_step"]}, "all recorded the same steps"
    stop.touch()
    output, _ = training.communicate(timeout=60)
    assert training.returncode == 0
    words = output.split()
    place = words.index("capture")
    assert words[place + 1] == words[place + 3], "the script's own capture is whole"


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_the_workers_stacks_come_with_the_window(desk: Desk, context: str) -> None:
    if find_py_spy() is None:
        pytest.skip("py-spy is not installed")
    script = desk.script(WORKERS)
    desk.start("run", "--no-tui", "--", sys.executable, str(script), context)
    run_id = desk.live_run()
    wait_until(lambda: desk.steps(run_id) > 20, "it trains")
    window = profile(desk, run_id)
    if any("may not look" in note for note in window["window_notes"]):
        pytest.skip(window["window_notes"][0])
    assert window["state"] == "done"
    assert len(window["worker_stacks"]) == 2
    for worker in window["worker_stacks"]:
        frames = {frame["function"]: frame for frame in worker["frames"]}
        assert worker["samples"] > 1
        assert frames["decode"]["file"] == str(script)
        assert frames["decode"]["total_share"] > 0.5
        assert frames["Pictures.__getitem__"]["total_share"] >= frames["decode"]["total_share"]
    told = desk.perftui("status", run_id, "--json")
    assert json.loads(told.stdout)["profiles"][0]["worker_stacks"] == window["worker_stacks"]


def test_a_training_that_is_killed_inside_a_window_leaves_no_half_trace(desk: Desk) -> None:
    script = desk.script(SLOW_STEPS)
    training = desk.start("run", "--no-tui", "--", sys.executable, str(script))
    run_id = desk.live_run()
    wait_until(lambda: desk.steps(run_id) >= 20, "it trains")
    asked = desk.start("profile", run_id, "--json")
    wait_until(
        lambda: [r["state"] for p in desk.status(run_id)["profiles"] for r in p["ranks"]] == ["recording"],
        "it records",
    )
    (pid,) = [
        pid
        for pid in tagged_pids(run_id)
        if str(script).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    os.kill(pid, signal.SIGKILL)
    output, _ = asked.communicate(timeout=60)
    window = json.loads(output)
    assert asked.returncode == 1
    assert window["state"] == "failed"
    assert [rank["state"] for rank in window["ranks"]] == ["aborted"]
    assert "its process ended inside the window" in window["sentence"]
    training.communicate(timeout=60)
    assert list(run_places(run_id).profiles.iterdir()) == []


def test_an_open_window_is_cancelled(desk: Desk) -> None:
    script = desk.script(SLOW_STEPS)
    desk.start("run", "--no-tui", "--", sys.executable, str(script))
    run_id = desk.live_run()
    wait_until(lambda: desk.steps(run_id) >= 20, "it trains")
    assert desk.perftui("profile", run_id, "--cancel").returncode == 4
    asked = desk.start("profile", run_id)
    wait_until(lambda: desk.status(run_id)["profiles"], "the window is open")
    assert desk.perftui("profile", run_id, "--cancel").returncode == 0
    output, _ = asked.communicate(timeout=60)
    assert asked.returncode == 1
    assert output.splitlines()[0] == "cancelled: cancelled"
