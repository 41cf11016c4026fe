"""How often checkpoints and validations come, and what a checkpoint is: from the newest ones of the run."""

import msgspec.structs
import pytest

from perftui.ipc.messages import BLANK, RankEvent
from perftui.ipc.units import MIB
from perftui.trainer.hub.pause_log import PauseLog, usual_distance


def _saved(step: int, text: str = "last.pt", size: int | None = 12 * MIB, **more: object) -> RankEvent:
    event = RankEvent(
        **BLANK,
        at_ns=step * 1000,
        event="checkpoint",
        text=text,
        duration_ns=100,
        step=step,
        at="train.py:27 save",
        size_bytes=size,
    )
    return msgspec.structs.replace(event, **more)


@pytest.mark.parametrize(
    ("steps", "usual"),
    [
        ([19, 39, 59], 20),
        ([19, 39], None),  # one distance says nothing
        ([19, 19, 39, 39, 59, 59], 20),  # two in one step
        ([-1, 19, 39, -1, 59], 20),  # not known in which step
        ([20, 40, 60, 80, 83], 20),  # one more at the end: 3 of 4
        ([20, 40, 60, 63], None),  # 2 of 3
        ([5, 17, 60, 61], None),
        ([1, 2, 3], 1),
        ([], None),
    ],
)
def test_the_usual_distance(steps: list[int], usual: int | None) -> None:
    assert usual_distance(steps) == usual


def test_a_window_with_one_checkpoint_tells_how_often_the_run_saves() -> None:
    log = PauseLog()
    for step in (20, 40, 60, 80):
        log.add(_saved(step))
    (seen,) = log.between(79_000, 90_000)
    assert (seen.count, seen.every_steps, seen.at) == (1, 20, "train.py:27 save")
    assert (seen.size_mib, seen.file, seen.one_file) == (12.0, "last.pt", True)
    assert log.whole(0, 90_000)[0].every_steps == 20


def test_the_newest_checkpoint_stands_for_those_with_names_of_their_own() -> None:
    log = PauseLog()
    log.add(_saved(20, "step20.pt"))
    log.add(_saved(40, "step40.pt", None))
    (seen,) = log.whole(0, 90_000)
    assert (seen.file, seen.one_file, seen.size_mib) == ("step40.pt", False, None)


def test_validations_have_a_distance_and_no_file() -> None:
    log = PauseLog()
    for step in (25, 50, 75):
        log.add(_saved(step, "4 batches", None, event="validation", at=None))
    (seen,) = log.whole(0, 90_000)
    assert (seen.kind, seen.every_steps, seen.file, seen.at) == ("validation", 25, None, None)
