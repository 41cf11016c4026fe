"""The command line as a user has it: a process, in folders of its own; nothing may be left behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from perftui.ipc.places import run_places
from perftui.trainer.telemetry.processes import tagged_pids
from tests.conftest import RuntimeDirs
from tests.processes import processes_below
from tests.waiting import wait_until

DEADLINE_S = 120.0
PERFTUI = [sys.executable, "-m", "perftui.tui"]


@dataclass
class Desk:
    """A user's folder and shell."""

    folder: Path
    state: Path
    running: list["subprocess.Popen[str]"] = field(default_factory=list["subprocess.Popen[str]"])

    def script(self, text: str, name: str = "train.py") -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def perftui(self, *arguments: str, timeout: float = DEADLINE_S) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*PERFTUI, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*PERFTUI, *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return process

    def runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.perftui("ls", "--all", "--json").stdout)["runs"]
        return found

    def status(self, run_id: str) -> dict[str, Any]:
        done = self.perftui("status", run_id, "--json")
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def live_run(self) -> str:
        """Wait for the one run that goes on."""
        wait_until(lambda: self._live() is not None, "a run appears")
        run_id = self._live()
        assert run_id is not None
        return run_id

    def _live(self) -> str | None:
        live = [run["run_id"] for run in self.runs() if run["state"] == "running"]
        return str(live[0]) if live else None

    def steps(self, run_id: str) -> int:
        ranks = self.status(run_id).get("ranks") or [{"steps": 0}]
        return min(int(rank["steps"]) for rank in ranks)

    def leave(self) -> None:
        """Stop what goes on, wait until nothing of it is left, and say so if something is."""
        for run in self.runs():
            if run["state"].startswith("running"):
                self.perftui("stop", run["run_id"], "--now")
        for process in self.running:
            if process.poll() is None:
                process.terminate()
            process.communicate(timeout=DEADLINE_S)
        run_ids = [folder.name for folder in (self.state / "perftui" / "runs").glob("*")]
        wait_until(lambda: not any(tagged_pids(run_id) for run_id in run_ids), "all trainings end", 60)
        for pid in self._ours():
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not self._ours(), "keepers and hubs end", 60)

    def _ours(self) -> list[int]:
        return list(processes_below(self.state))

    def hub_pid(self, run_id: str) -> int:
        """Return the pid of a run's hub: it works in the run's folder."""
        state = run_places(run_id).state
        for pid in self._ours():
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"perftui.trainer.hub" in command and Path(f"/proc/{pid}/cwd").readlink() == state:
                return pid
        raise AssertionError("no hub")


@pytest.fixture
def desk(tmp_path: Path, runtime_dirs: RuntimeDirs) -> Iterator[Desk]:
    folder = tmp_path / "work"
    folder.mkdir()
    made = Desk(folder, runtime_dirs.state)
    yield made
    made.leave()
