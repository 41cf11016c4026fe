"""What lay below /tmp before a trial, and what its command names there, stays as it was."""

import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

AMONG_TEMPORARY_FILES = """
import pickle, socket, sys, tempfile
run = Path({run!r})
assert [path.name for path in run.iterdir()] == ["step-3.pt"]
(run / "step-4.pt").write_text("of the trial")
(run / "step-3.pt").unlink()
assert [path.name for path in run.iterdir()] == ["step-4.pt"]
out = Path(sys.argv[sys.argv.index("--out") + 1])
out.mkdir()
(out / "model.pt").write_text("of the trial")
assert (out / "model.pt").read_text() == "of the trial"
fresh = Path(tempfile.mkdtemp(dir={root!r}))
(fresh / "x").write_text("y")
os.rename(fresh / "x", fresh / "z")
shutil.rmtree(fresh)
listener = socket.socket(socket.AF_UNIX)
os.unlink(run.parent / "socket")
listener.bind(str(run.parent / "socket"))
"""


def test_what_lies_among_temporary_files_is_the_users_too(hub: "Hub") -> None:
    project = hub.work / "project"
    project.mkdir()
    hub.apply(trial=True, scratch=str(hub.places.scratch), seed=7)
    with tempfile.TemporaryDirectory(dir="/tmp") as root:
        run, out = Path(root, "run1"), Path(root, "out")
        run.mkdir()
        (run / "step-3.pt").write_text("precious")
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(f"{root}/socket")
        (hub.places.state / "run.json").write_text(
            json.dumps({"cwd": str(project), "command": ["python", "train.py", "--out", str(out)]})
        )
        code = "from pathlib import Path\nimport os, shutil\n" + AMONG_TEMPORARY_FILES
        done = subprocess.run(
            [sys.executable, "-c", code.format(run=str(run), root=root), "--out", str(out)],
            cwd=project,
            env=hub.environment(PERFTUI_TRIAL="1", TEMP=root),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.stderr == ""
        assert [path.read_text() for path in run.iterdir()] == ["precious"]
        assert not out.exists()
