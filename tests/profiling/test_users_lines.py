"""Whose line a window shows: the user's, in files from elsewhere and in windows of this environment."""

from pathlib import Path

import pytest

from perftui.trainer.profiling.analysis import analyse_files, analyse_ranks
from tests.profiling.trace_maker import TraceMaker


def waiting_below(folder: Path, *frames: str) -> Path:
    """Write a trace in which a waiting call is made below these frames, the outermost first."""
    maker = TraceMaker()
    for _ in range(2):
        maker.step()
        maker.compute(100_000)
        begin = maker.now_ns - 50_000
        for depth, frame in enumerate(frames):
            maker.add("python_function", frame, begin + depth, 100_000 - 2 * depth)
        maker.add("cuda_runtime", "cudaStreamSynchronize", begin + 1000, 60_000, correlation=1 << 40)
        maker.idle(host_other=100_000)
    return maker.write(folder / "trace.json")


FRAMES = (
    (("train.py(9): main", "transformers/trainer.py(3745): training_step"), "train.py:9 main"),
    (("train.py(9): main", "tqdm/std.py(1181): __iter__", "queue.py(171): get"), "train.py:9 main"),
    (("torch-train/main.py(5): f", "torch/_tensor.py(40): item"), "torch-train/main.py:5 f"),
    (("train.py(9): main", "datasets/coco.py(3): f"), "datasets/coco.py:3 f"),
    (("transformers/trainer.py(1): f", "torch/_tensor.py(40): item"), "torch/_tensor.py:40 item"),
)


@pytest.mark.parametrize(("frames", "shown"), FRAMES)
def test_the_line_is_the_users(tmp_path: Path, frames: tuple[str, ...], shown: str) -> None:
    path = waiting_below(tmp_path, *frames)
    for report in (analyse_files([path]), analyse_ranks([(0, path)])):
        assert [(sync.where, sync.operator, sync.per_step) for sync in report.ranks[0].syncs] == [
            (shown, None, 1.0)
        ]


def test_a_package_of_this_environment_is_not_the_users_in_its_own_windows(tmp_path: Path) -> None:
    """From elsewhere nobody knows whose `_pytest` it is."""
    path = waiting_below(tmp_path, "train.py(9): main", "_pytest/runner.py(3): run", "_pytest/mine.py(1): f")
    assert analyse_files([path]).ranks[0].syncs[0].where == "_pytest/mine.py:1 f"
    path = waiting_below(tmp_path, "train.py(9): main", "_pytest/runner.py(3): run")
    assert analyse_files([path]).ranks[0].syncs[0].where == "_pytest/runner.py:3 run"
    assert analyse_ranks([(0, path)]).ranks[0].syncs[0].where == "train.py:9 main"
