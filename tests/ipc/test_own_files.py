"""Frames of perftui are known wherever it lies, and no file of a script's is taken for one."""

from pathlib import Path

import pytest

from perftui.ipc import own_files
from perftui.ipc.own_files import is_ours
from perftui.trainer.diagnosis.evidence import of_the_script
from perftui.trainer.profiling.frame_files import known_by_name
from perftui.trainer.profiling.host_names import frame_place
from perftui.trainer.telemetry.stack_fold import Frame, Stack, Worker, folded

HERE = Path(own_files.__file__).parents[1]
OURS = (
    str(HERE / "trainer" / "probe" / "batch_making.py"),
    str(HERE / "ipc" / "codec.py"),
    "/venv/lib/python3.11/site-packages/perftui/trainer/probe/hooks.py",
    "/mnt/a checkout/trainer/probe/batch_making.py",
    "/mnt/other/trainer/probe/altering/own_functions.py",
    "/mnt/other/trainer/launch/inject/sitecustomize.py",
    "trainer/probe/hooks.py",
    "perftui/trainer/probe/hooks.py",
)
THEIRS = (
    "train.py",
    "/home/u/trainer/probe/of_mine.py",
    "/home/u/trainer/hooks.py",
    "/home/u/my_trainer/probe/hooks.py",
    "/home/u/ipc/codec.py",
    str(HERE / "tests" / "probe" / "test_batch_making.py"),
)


@pytest.mark.parametrize("file", OURS)
def test_our_files_are_no_place(file: str) -> None:
    assert is_ours(file)
    assert not of_the_script(f"{file}:176 _patch_fetch.<locals>.fetch")
    assert not of_the_script(file)
    assert known_by_name(file)
    assert frame_place(f"{file}(176): fetch") is None
    within = Stack(
        (Frame("collate", file, 9), Frame("Rows.__getitem__", "train.py", 19), Frame("fetch", file, 176)),
        active=True,
    )
    frames = folded(Worker(rank=0, pid=1, start_ticks=1, number=0), [within]).frames
    assert [(frame.function, frame.self_share, frame.total_share) for frame in frames] == [
        ("Rows.__getitem__", 1.0, 1.0)
    ]


@pytest.mark.parametrize("file", THEIRS)
def test_other_files_are(file: str) -> None:
    assert not is_ours(file)
    assert of_the_script(f"{file}:12 main")
    assert frame_place(f"{file}(12): main") == f"{file}:12 main"
