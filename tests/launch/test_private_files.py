"""With a umask of 0: what perftui writes is the user's alone, what the training writes is as without us."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from perftui.ipc.audit import read_audit
from perftui.ipc.places import RunPlaces, runtime_root, state_root
from perftui.ipc.run_files import ExitRecord
from perftui.trainer.launch.live import stop
from perftui.trainer.launch.runs import list_runs
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import launch
from tests.waiting import wait_until

SECRET = "umask-0-secret-4711"
SCRIPT = """
import os, sys, time
open("made.txt", "w").close()
os.mkdir("made")
sys.stdout.write("begun\\n")
sys.stdout.flush()
time.sleep(300)
"""


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_files_and_folders_are_private_and_the_training_keeps_its_umask(
    ended: Callable[[RunPlaces], ExitRecord],
    script: Callable[[str], list[str]],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", SECRET)
    before = os.umask(0)
    try:
        places = launch(LaunchSpec(script(SCRIPT), home, stdio="log"))
        wait_until(lambda: (home / "made").is_dir(), "the training runs")
        wait_until(lambda: list(places.recording.glob("*.rec")), "the hub records")
        stop(next(line for line in list_runs() if line.run_id == places.run_id), at_once=True)
        ended(places)
        wait_until(places.summary.exists, "the summary is there")
    finally:
        os.umask(before)
    assert (_mode(home / "made.txt"), _mode(home / "made")) == (0o666, 0o777)
    found = {path: _mode(path) for root in (state_root(), runtime_root()) for path in root.rglob("*")}
    names = {path.name for path in found}
    assert {"run.json", "keeper.json", "console.log", "exit.json", "000001.rec", "summary.json"} <= names
    assert {"audit.jsonl", "hub.log", "hub.starts", "settings.json"} <= names
    assert {str(path): oct(mode) for path, mode in found.items() if mode & 0o077} == {}
    holding = [path for path in found if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert holding == []  # the environment of a training is written nowhere
    assert [line.what for line in read_audit(places.audit)] == ["stop"]
