"""File systems of a test's own, in a mount namespace: small, read-only, or in the place of /dev/shm."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .conftest import DEADLINE_S, PERFTUI

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]


@cache
def can_mount() -> bool:
    """Whether a file system can be mounted here at all."""
    if shutil.which("unshare") is None:
        return False
    asked = subprocess.run(
        [*UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    )
    return asked.returncode == 0


@dataclass(frozen=True)
class Mounted:
    """A folder in which trainings are started behind a mount; `state` and `r` in it are perftui's."""

    folder: Path

    def run(self, mount: str, script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a script under perftui.

        Args:
            mount: shell words that mount, run in the folder.
            script: its text.
            arguments: of `perftui run`.
        """
        command = [*PERFTUI, "run", "--no-tui", *arguments, "--"]
        return self._behind(mount, script, command)

    def plain(self, mount: str, script: str) -> "subprocess.CompletedProcess[str]":
        """Run it without."""
        return self._behind(mount, script, [])

    def _behind(self, mount: str, script: str, words: list[str]) -> "subprocess.CompletedProcess[str]":
        (self.folder / "state").mkdir(exist_ok=True)
        (self.folder / "train.py").write_text(script)
        environment = {
            **os.environ,
            "XDG_STATE_HOME": str(self.folder / "state"),
            "PERFTUI_RUNTIME_DIR": str(self.folder / "r"),
        }
        return subprocess.run(
            [*UNSHARE, "sh", "-c", f'{mount} && exec "$@"', "sh", *words, sys.executable, "train.py"],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
