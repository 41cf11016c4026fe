"""Which commit a folder stood at when a run began: not the one that it stands at when somebody asks."""

import os
import subprocess
from pathlib import Path

import pytest

from perftui.trainer.tuning.provenance import commit_of, commit_then, newest_before

LOG = f"HEAD@{{300}} {'c' * 40}\nHEAD@{{200}} {'b' * 40}\nHEAD@{{100}} {'a' * 40}\n"


@pytest.mark.parametrize(
    ("unix", "commit"), [(99.9, None), (100.0, "a" * 40), (250.0, "b" * 40), (1e9, "c" * 40)]
)
def test_the_newest_move_before_counts(unix: float, commit: str | None) -> None:
    assert newest_before(LOG, unix) == commit


def test_what_is_no_log_tells_nothing() -> None:
    assert newest_before("", 1e9) is None
    assert newest_before("HEAD@{yesterday} abc\nfatal: no", 1e9) is None


def _git(folder: Path, at: int, *words: str) -> None:
    dates = {"GIT_COMMITTER_DATE": f"{at} +0000", "GIT_AUTHOR_DATE": f"{at} +0000"}
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.invalid"]
    subprocess.run(
        ["git", *identity, *words], cwd=folder, env={**os.environ, **dates}, check=True, capture_output=True
    )


def test_a_folder_that_has_moved_on_is_told_as_it_was(tmp_path: Path) -> None:
    _git(tmp_path, 1_700_000_000, "init", "-q")
    _git(tmp_path, 1_700_000_000, "commit", "-q", "--allow-empty", "-m", "one")
    first, _ = commit_of(tmp_path)
    _git(tmp_path, 1_700_000_600, "commit", "-q", "--allow-empty", "-m", "two")
    second, _ = commit_of(tmp_path)
    assert first != second
    assert commit_then(tmp_path, 1_700_000_300.0) == first
    assert commit_then(tmp_path, 1_700_000_900.0) == second
    assert commit_then(tmp_path, 1_600_000_000.0) is None
    assert commit_then(tmp_path / "nowhere", 1_700_000_900.0) is None
