"""What a trial waits for, and what it takes out of a command."""

import pytest

from perftui.trainer.tuning.gpu_rest import MemoryLevel
from perftui.trainer.tuning.trial_command import without_restarts


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("torchrun --max-restarts=3 t.py", "torchrun --max-restarts=0 t.py"),
        ("torchrun --max_restarts 3 -m pkg.train", "torchrun --max_restarts 0 -m pkg.train"),
        ("accelerate launch --max_restarts=2 t.py", "accelerate launch --max_restarts=0 t.py"),
        ("torchrun t.py --max-restarts 3", "torchrun t.py --max-restarts 3"),
        ("python t.py --max-restarts=3", "python t.py --max-restarts=3"),
        ("torchrun --max-restarts", "torchrun --max-restarts"),
    ],
)
def test_no_launcher_restarts_the_ranks_of_a_trial(command: str, changed: str) -> None:
    assert without_restarts(command.split()) == changed.split()


def test_memory_is_free_when_it_falls_no_more_and_then_at_that_level() -> None:
    level = MemoryLevel()
    level.begin()
    assert [level.is_free({"G": mib}) for mib in (40_000.0, 9_000.0, 1_020.0, 1_000.0)] == [
        False,
        False,
        False,
        True,
    ]
    level.begin()
    assert [level.is_free({"G": mib}) for mib in (40_000.0, 40_000.0, 1_250.0, 1_190.0)] == [
        False,
        False,
        False,
        True,
    ]
    assert level.excess({"G": 1_500.0}) == 500.0


def test_a_gpu_that_joins_later_gets_a_level_of_its_own() -> None:
    level = MemoryLevel()
    level.begin()
    assert [level.is_free({"G": 10.0}) for _ in range(2)] == [False, True]
    level.begin()
    assert [level.is_free({"G": 10.0, "H": 500.0}) for _ in range(2)] == [False, True]
    assert level.excess({"G": 10.0, "H": 500.0}) == 0.0
