"""A loader worker is a forked copy of the rank: what it has of the rank's it must not free."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perftui.ipc.places import RunPlaces

pytestmark = [pytest.mark.torch]

SCRIPT = """
import gc, os, sys
import torch
from perftui.trainer.probe.install import install

class Pinned:
    def __del__(self):
        os.write(1, b"freed in %d\\n" % os.getpid())

probe = install()
probe.recorder.loss._pinned = Pinned()
probe.recorder.loss._pending = (0, Pinned(), Pinned())
child = os.fork()
if child == 0:
    model = torch.nn.Linear(1, 1)
    model(torch.ones(1, 1)).sum().backward()
    gc.collect()
    os._exit(0)
_, status = os.waitpid(child, 0)
os.write(1, b"child %d ended with %d\\n" % (child, status))
os._exit(0)
"""


def test_a_forked_child_frees_nothing_of_its_parents(tmp_path: Path) -> None:
    """On a GPU, freeing page-locked memory or an event in a forked child aborts it."""
    places = RunPlaces("test-run", tmp_path, tmp_path)
    environment = os.environ | {
        "PERFTUI_RUN_ID": places.run_id,
        "PERFTUI_RUN_STATE": str(tmp_path),
        "PERFTUI_RUN_RUNTIME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "freed" not in done.stdout
    assert done.stdout.endswith("ended with 0\n")
