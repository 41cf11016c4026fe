"""A request to stop that cannot be read still means stop, with the usual grace: whatever is in the file."""

from pathlib import Path

import pytest

from perftui.trainer.launch.keeper_files import read_stop
from perftui.trainer.launch.stop_ladder import StopOrder


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"[1]",
        b"{}",
        b'{"stopped_by": "steps", "trainers": 5}',
        b'{"stopped_by": "steps", "trainers": [[3, -Infinity]]}',
        b'{"stopped_by": "steps", "trainers": [[3]]}',
        b'{"stopped_by": "steps", "grace_s": "soon"}',
        b"[" * 100_000,
    ],
)
def test_what_cannot_be_read_means_stop(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "stop.json").write_bytes(text)
    assert read_stop(tmp_path) == StopOrder("user")


@pytest.mark.parametrize("grace", [b"NaN", b"Infinity", b"-Infinity"])
def test_a_grace_without_end_is_the_usual_one(tmp_path: Path, grace: bytes) -> None:
    (tmp_path / "stop.json").write_bytes(b'{"stopped_by": "steps", "grace_s": %s}' % grace)
    assert read_stop(tmp_path) == StopOrder("steps")


def test_nobody_asked(tmp_path: Path) -> None:
    assert read_stop(tmp_path) is None
