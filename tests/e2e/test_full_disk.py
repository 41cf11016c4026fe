"""A disk that takes no more, as a small file system of the test's own: the training must not feel it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import DEADLINE_S, PERFTUI
from .namespaces import UNSHARE, can_mount

FILLS_THE_DISK = """
import os, sys, time, torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(60):
    optimizer.zero_grad()
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    time.sleep(0.02)
    if step == 30:
        with open(os.environ["XDG_STATE_HOME"] + "/filler", "wb", buffering=0) as filler:
            try:
                while filler.write(b"x" * 512):
                    pass
            except OSError as error:
                print(error.strerror)
sys.exit(7)
"""


pytestmark = pytest.mark.skipif(not can_mount(), reason="no file system of its own can be mounted here")


@pytest.fixture
def desk_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pt-"))
    yield folder
    shutil.rmtree(folder)


def _run_on_a_small_disk(folder: Path, size: str) -> "subprocess.CompletedProcess[str]":
    (folder / "state").mkdir()
    (folder / "train.py").write_text(FILLS_THE_DISK)
    command = [
        *PERFTUI,
        "run",
        "--no-tui",
        "--json",
        str(folder / "out.json"),
        "--",
        sys.executable,
        "train.py",
    ]
    mount = f'mount -t tmpfs -o size={size} none "{folder}/state" && exec "$@"'
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(folder / "state"),
        "PERFTUI_RUNTIME_DIR": str(folder / "r"),
    }
    return subprocess.run(
        [*UNSHARE, "sh", "-c", mount, "sh", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def test_the_exit_code_and_the_summary_survive_a_full_disk(desk_folder: Path) -> None:
    done = _run_on_a_small_disk(desk_folder, "1m")
    assert done.stdout == "No space left on device\n"
    assert done.returncode == 7, done.stderr
    summary = json.loads((desk_folder / "out.json").read_text())
    assert (summary["exit_code"], summary["ranks"][0]["steps"]) == (7, 60)
    assert "No space left" in summary["message"]


def test_a_disk_without_room_for_a_run_is_told_before_it_begins(desk_folder: Path) -> None:
    done = _run_on_a_small_disk(desk_folder, "16k")
    assert (done.returncode, done.stdout) == (4, "")
    assert "cannot be written (No space left on device)" in done.stderr
    assert "Traceback" not in done.stderr
