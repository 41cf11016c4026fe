"""Scripts that use real frameworks, unmodified, run to their end under `perftui run --no-tui --json`."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from perftui.ipc.recording import read_recording
from tests.processes import processes_below
from tests.waiting import wait_until

from .own_clock import OWN_CLOCK
from .seen import Seen, read_own

pytest.register_assert_rewrite("tests.frameworks.checks")  # they say what they found, as tests do

DEADLINE_S = 180.0
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Watched:
    """A user's folder and shell; trainings run in it one after the other."""

    folder: Path
    environment: dict[str, str]
    state: Path
    seen: dict[str, Seen] = field(default_factory=dict[str, Seen])
    """What was run already, by script and options: it is not run again for another test."""

    def run(
        self,
        script: str,
        options: dict[str, object] | None = None,
        *launcher: str,
        setting: str | None = None,
    ) -> Seen:
        """Run a script to its end, unless that was done before.

        Args:
            script: what follows the preamble of `own_clock`.
            options: handed to the script.
            launcher: what starts it instead of the interpreter.
            setting: `NAME=VALUE` for `--set`.
        """
        key = json.dumps([script, options, launcher, setting])
        if key not in self.seen:
            self.seen[key] = self._run(script, options, launcher, setting)
        return self.seen[key]

    def _run(
        self, script: str, options: dict[str, object] | None, launcher: tuple[str, ...], setting: str | None
    ) -> Seen:
        work = Path(tempfile.mkdtemp(dir=self.folder))
        (work / "train.py").write_text(OWN_CLOCK + script)
        command = [*(launcher or (sys.executable,)), "train.py", json.dumps(options or {})]
        run = [sys.executable, "-m", "perftui.tui", "run", "--no-tui", "--json", "out.json"]
        done = subprocess.run(
            [*run, *(("--set", setting) if setting else ()), "--", *command],
            cwd=work,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        summary = json.loads((work / "out.json").read_text())
        recording = self.state / "perftui" / "runs" / summary["run_id"] / "recording"
        messages = [entry.message for entry in read_recording(recording) if entry.message is not None]
        owns = {int(path.stem.removeprefix("own-")): read_own(path) for path in work.glob("own-*.json")}
        return Seen(summary, messages, owns)

    def leave(self) -> None:
        """End the keepers and hubs that stay for a while."""
        for pid in processes_below(self.state):
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not processes_below(self.state), "keepers and hubs end", 60)


@pytest.fixture(scope="session")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    runtime = tempfile.mkdtemp(prefix="pt-")  # short: a socket's path has 107 bytes at most
    state = tmp_path_factory.mktemp("state")
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PERFTUI_")}
    home = str(tmp_path_factory.mktemp("home"))  # some frameworks write their settings there
    places = {"PERFTUI_RUNTIME_DIR": runtime, "XDG_STATE_HOME": str(state), "HOME": home}
    made = Watched(tmp_path_factory.mktemp("work"), {**bare, **QUIET, **places}, state)
    yield made
    made.leave()
    shutil.rmtree(runtime)
