"""A disk that takes no more, one that is read-only or becomes so, a small /dev/shm: the same training."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .namespaces import Mounted, can_mount
from .odd_scripts import BEGIN

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(not can_mount(), reason="no file system of its own can be mounted here"),
]

BECOMES_READ_ONLY = (
    BEGIN
    + """
def each(number):
    time.sleep(0.01)
    if number == 60 and "PERFTUI_RUN_ID" in os.environ:
        subprocess.run(["mount", "-o", "remount,ro", os.environ["XDG_STATE_HOME"]], check=True)
train(150, each)
sys.exit(7)
"""
)
FILLS = (
    BEGIN
    + """
def each(number):
    time.sleep(0.01)
    if number == 60:
        with open(os.environ["XDG_STATE_HOME"] + "/filler", "wb", buffering=0) as filler:
            try:
                while filler.write(b"x" * 512):
                    pass
            except OSError as error:
                print(error.strerror)
train(150, each)
sys.exit(7)
"""
)
WORKERS = BEGIN + "train(60, num_workers=2)\nsys.exit(7)\n"


@pytest.fixture
def mounted() -> Iterator[Mounted]:
    folder = Path(tempfile.mkdtemp(prefix="pt-"))
    yield Mounted(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("mount", "script"),
    [
        pytest.param("mount -t tmpfs -o size=1m none state", FILLS, id="full", marks=pytest.mark.long),
        pytest.param(
            "mount -t tmpfs none state", BECOMES_READ_ONLY, id="read-only half way", marks=pytest.mark.long
        ),
        pytest.param(
            "mount -t tmpfs -o size=2m none /dev/shm", WORKERS, id="a small /dev/shm", marks=pytest.mark.long
        ),
    ],
)
def test_the_training_is_the_same(mounted: Mounted, mount: str, script: str) -> None:
    plain = mounted.plain(mount, script)
    ours = mounted.run(mount, script)
    assert plain.returncode == 7, plain.stderr
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout), ours.stderr
    assert "Traceback" not in ours.stderr


def test_a_read_only_state_folder_is_told_before_anything_starts(mounted: Mounted) -> None:
    done = mounted.run("mount -t tmpfs -o ro none state", "print('trained')")
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = [line for line in done.stderr.splitlines() if "Read-only" in line]
    assert "set XDG_STATE_HOME to" in line


def test_a_read_only_runtime_folder_is_told_before_anything_starts(mounted: Mounted) -> None:
    (mounted.folder / "r").mkdir(mode=0o700)
    done = mounted.run("mount -t tmpfs -o ro,mode=700 none r", "print('trained')")
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = [line for line in done.stderr.splitlines() if "Read-only" in line]
    assert "PERFTUI_RUNTIME_DIR" in line
