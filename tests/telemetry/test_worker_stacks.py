"""Stacks of loader workers: folded, sampled from real processes, and what is said where that cannot be."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perftui.ipc.worker_stacks import WorkerStacks
from perftui.trainer.telemetry import py_spy, worker_stacks
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.telemetry.py_spy import MISSING, find_py_spy, read_dump, why_refused, why_unseen
from perftui.trainer.telemetry.stack_fold import Frame, Stack, Worker, folded
from perftui.trainer.telemetry.worker_stacks import StackSampler

WORKER = Worker(rank=1, pid=7, start_ticks=9, number=0)
BUSY = """
import sys, time
def decode(deadline):
    while time.monotonic() < deadline:
        sum(range(1000))
def item(deadline):
    decode(deadline)
print("ready", flush=True)
item(time.monotonic() + 60)
"""


def stack(*frames: tuple[str, int], active: bool = True) -> Stack:
    return Stack(tuple(Frame(name, "f.py", line) for name, line in frames), active)


def test_functions_and_their_shares() -> None:
    stacks = [
        stack(("decode", 5), ("item", 20), ("loop", 30)),
        stack(("decode", 6), ("item", 20), ("loop", 30)),
        stack(("decode", 6), ("decode", 9), ("item", 21), ("loop", 30)),
        stack(("wait", 2), ("loop", 31), active=False),
    ]
    found = folded(WORKER, stacks)
    assert (found.rank, found.pid, found.number, found.samples) == (1, 7, 0, 4)
    assert found.active_share == 0.75
    shares = {frame.function: (frame.line, frame.self_share, frame.total_share) for frame in found.frames}
    assert shares == {
        "decode": (6, 0.75, 0.75),
        "wait": (2, 0.25, 0.25),
        "item": (20, 0.0, 0.75),
        "loop": (30, 0.0, 1.0),
    }
    assert [frame.function for frame in found.frames] == ["decode", "wait", "loop", "item"]


def test_functions_of_one_name_in_two_files_are_two() -> None:
    frames = [Stack((Frame("get", file, 1),), active=True) for file in ("a.py", "b.py")]
    assert [frame.file for frame in folded(WORKER, frames).frames] == ["a.py", "b.py"]


def test_what_a_forked_worker_has_of_its_parent_is_left_out() -> None:
    loop = Frame("_worker_loop", "/venv/torch/utils/data/_utils/worker.py", 3)
    stack = Stack((Frame("Photos.__getitem__", "a.py", 1), loop, Frame("main", "train.py", 9)), active=False)
    assert [frame.function for frame in folded(WORKER, [stack]).frames] == [
        "Photos.__getitem__",
        "_worker_loop",
    ]


def test_no_samples_give_no_shares() -> None:
    assert folded(WORKER, []) == WorkerStacks(rank=1, pid=7, number=0, samples=0)


def test_the_main_thread_is_the_one_that_counts() -> None:
    def thread(ident: int, name: str) -> dict[str, object]:
        frames = [{"name": name, "filename": "/x.py", "line": 3, "locals": None}]
        return {"pid": 7, "os_thread_id": ident, "thread_name": None, "active": True, "frames": frames}

    dump = json.dumps([thread(9, "serve"), thread(7, "main")]).encode()
    assert read_dump(dump, 7) == Stack((Frame("main", "/x.py", 3),), active=True)
    assert read_dump(json.dumps([thread(9, "serve")]).encode(), 7) is None
    assert read_dump(b"", 7) is None
    assert read_dump(b'{"not": "a list"}', 7) is None


def test_a_missing_permission_comes_with_the_way_to_get_it() -> None:
    said = why_refused("Error: Permission Denied: Try running again with elevated permissions", "/bin/spy")
    assert said is not None
    assert "sudo setcap cap_sys_ptrace=ep /bin/spy" in said
    assert why_refused("Error: Failed to find python version", "/bin/spy") is None


def test_without_py_spy_a_note_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert find_py_spy() is None
    assert why_unseen() == MISSING
    sampler = StackSampler()
    assert not sampler.tick([WORKER], wanted=True)
    assert sampler.result() == ([], [MISSING])
    no_workers = StackSampler()
    assert not no_workers.tick([], wanted=True)
    assert no_workers.result() == ([], [])


@pytest.mark.parametrize(
    ("scope", "capable", "refused"),
    [("0", False, False), (None, False, False), ("1", False, True), ("1", True, False), ("3", False, True)],
)
def test_what_the_kernel_allows_is_known_before_a_window(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scope: str | None, capable: bool, refused: bool
) -> None:
    program = tmp_path / "py-spy"
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    file = tmp_path / "scope"
    if scope is not None:
        file.write_text(f"{scope}\n")
    monkeypatch.setattr(py_spy, "_PTRACE_SCOPE", file)

    def may_trace(_program: str) -> bool:
        return capable

    monkeypatch.setattr(py_spy, "_may_trace", may_trace)
    why = why_unseen()
    assert (why is not None) is refused
    if why is not None:
        assert f"ptrace_scope is {scope}" in why
        assert f"sudo setcap cap_sys_ptrace=ep {program}" in why


def sampled(workers: list[Worker]) -> tuple[list[WorkerStacks], list[str]]:
    sampler = StackSampler()
    while sampler.tick(workers, wanted=False):
        time.sleep(0.02)
    return sampler.result()


@pytest.mark.skipif(find_py_spy() is None, reason="py-spy is not installed")
def test_a_real_process_is_looked_into() -> None:
    process = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        worker = Worker(0, process.pid, start_ticks(process.pid) or 0, None)
        found, notes = sampled([worker])
    finally:
        process.kill()
        process.communicate()
    if not found and "may not look" in "".join(notes):
        pytest.skip(notes[0])
    assert notes == []
    assert found[0].samples >= 1
    shares = {frame.function: frame for frame in found[0].frames}
    assert shares["item"].total_share > 0.5
    assert shares["decode"].self_share > 0.5
    assert shares["item"].line == 7


@pytest.mark.skipif(find_py_spy() is None, reason="py-spy is not installed")
def test_a_process_that_has_ended_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_stacks, "LEAST_S", 0.2)
    process = subprocess.Popen([sys.executable, "-c", ""])
    worker = Worker(0, process.pid, start_ticks(process.pid) or 0, None)
    process.wait()
    assert sampled([worker]) == ([], ["no loader worker could be looked at: they ended before"])
