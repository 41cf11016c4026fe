"""A user's folder before a trial, and code that runs as a trial in it."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.probe.conftest import Hub


@pytest.fixture
def project(hub: "Hub") -> Path:
    """Fill the user's folder as it may be before a trial."""
    folder = hub.work / "project"
    (folder / "runs" / "old").mkdir(parents=True)
    (folder / "runs" / "old" / "best.pt").write_bytes(b"precious")
    (folder / "runs" / "old" / "notes.txt").write_text("by hand\n")
    (folder / "log.csv").write_text("step,loss\n0,1.0\n")
    (folder / "config.json").write_text('{"a": 1}')
    (folder / "latest").symlink_to("runs/old")
    (folder / "best").symlink_to("runs/old/best.pt")
    for name in ("log.csv", "config.json", "runs/old/best.pt"):
        os.utime(folder / name, ns=(10**18, 10**18))
    hub.apply(trial=True, scratch=str(hub.places.scratch), seed=7)
    return folder


@pytest.fixture
def trial(hub: "Hub", project: Path) -> Callable[[str], "subprocess.CompletedProcess[str]"]:
    """Run code as a trial in the user's folder."""

    def run(code: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", "from pathlib import Path\nimport os, shutil\n" + textwrap.dedent(code)],
            cwd=project,
            env=hub.environment(PERFTUI_TRIAL="1"),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run
