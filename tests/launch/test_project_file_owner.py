"""Whose file may say how a script takes its arguments: a stranger's in /tmp may not."""

import os
from pathlib import Path

import pytest

from perftui.trainer.launch.project_file import mapped_arguments

FOREIGN_UID = 65534
TEXT = "[arguments]\nbs = '--config=/tmp/theirs --bs {value}'\n".replace("--config=/tmp/theirs ", "")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "perftui.toml").write_text(TEXT)
    inside = tmp_path / "project"
    inside.mkdir()
    return inside


def test_a_file_of_one_s_own_counts(project: Path) -> None:
    assert set(mapped_arguments(project)) == {"bs"}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_a_stranger_s_file_above_is_passed_over_and_their_project_counts(project: Path) -> None:
    file = project.parent / "perftui.toml"
    os.chown(file, FOREIGN_UID, -1)
    assert mapped_arguments(project) == {}
    os.chown(project, FOREIGN_UID, -1)
    assert set(mapped_arguments(project)) == {"bs"}


def test_a_pipe_is_no_project_file(project: Path) -> None:
    (project.parent / "perftui.toml").unlink()
    os.mkfifo(project / "perftui.toml")
    with pytest.raises(Exception, match="not a file"):
        mapped_arguments(project)
