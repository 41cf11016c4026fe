"""Folders of a run: private, ours, and short enough for a socket."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from perftui.ipc import places
from perftui.ipc.errors import NoSuchRun, Refused, UsageError
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.places import make_run_places, run_places, runtime_root, state_root

FOREIGN_UID = 65534


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folders_are_private(runtime_dirs: object) -> None:
    before = os.umask(0)
    try:
        run = make_run_places("abc-1")
    finally:
        os.umask(before)
    made = (runtime_root(), state_root(), run.runtime, run.state, run.recording, run.profiles)
    assert {path.name: oct(_mode(path)) for path in made} == {path.name: "0o700" for path in made}


def test_our_runtime_directory_open_to_others_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PERFTUI_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(places, "TEMPORARY", tmp_path)
    runtime_root().chmod(0o777)
    assert _mode(runtime_root()) == 0o700


def test_a_chosen_runtime_directory_keeps_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFTUI_RUNTIME_DIR", str(tmp_path / "chosen"))
    (tmp_path / "chosen").mkdir()
    (tmp_path / "chosen").chmod(0o755)
    assert _mode(runtime_root()) == 0o755
    (tmp_path / "chosen").chmod(0o1777)
    with pytest.raises(Refused, match=r"can be written by others; set PERFTUI_RUNTIME_DIR"):
        runtime_root()
    assert stat.S_IMODE((tmp_path / "chosen").stat().st_mode) == 0o1777


def test_folders_above_that_are_made_are_private_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFTUI_RUNTIME_DIR", str(tmp_path / "a" / "b" / "r"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / ".local" / "state"))
    before = os.umask(0)
    try:
        make_run_places("abc-1")
    finally:
        os.umask(before)
    modes = {path: _mode(path) for path in tmp_path.rglob("*") if path.is_dir()}
    assert len(modes) > 8
    assert set(modes.values()) == {0o700}


def test_a_state_folder_open_to_others_is_closed(runtime_dirs: object) -> None:
    state_root().chmod(0o755)
    assert _mode(state_root()) == 0o700


def test_a_state_folder_of_another_user_is_refused(
    runtime_dirs: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    state_root()
    monkeypatch.setattr(os, "getuid", lambda: FOREIGN_UID)
    with pytest.raises(Refused, match="belongs to another user; set XDG_STATE_HOME"):
        state_root()


def test_a_temporary_directory_in_which_anybody_may_rename_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PERFTUI_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(places, "TEMPORARY", tmp_path)
    tmp_path.chmod(0o1777)
    assert runtime_root().parent == tmp_path
    tmp_path.chmod(0o777)
    with pytest.raises(Refused, match=r"no sticky bit\); set PERFTUI_RUNTIME_DIR"):
        runtime_root()
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("name", ["PERFTUI_RUNTIME_DIR", "XDG_STATE_HOME"])
def test_a_relative_folder_is_one_clear_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PERFTUI_RUNTIME_DIR", str(tmp_path / "r"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    monkeypatch.setenv(name, "here")
    with pytest.raises(Refused, match=f"{name}=here is not an absolute path"):
        run_places("abc-1")
    assert not (tmp_path / "here").exists()


def test_a_run_whose_sockets_would_not_bind_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFTUI_RUNTIME_DIR", str(tmp_path / ("long" * 25)))
    with pytest.raises(UsageError, match="PERFTUI_RUNTIME_DIR to a shorter"):
        make_run_places("abc-1")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_someone_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, FOREIGN_UID, FOREIGN_UID)
    monkeypatch.setenv("PERFTUI_RUNTIME_DIR", str(theirs))
    with pytest.raises(Refused, match=r"not a directory of this user; set PERFTUI_RUNTIME_DIR"):
        runtime_root()


def test_a_link_in_its_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("PERFTUI_RUNTIME_DIR", str(tmp_path / "link"))
    with pytest.raises(Refused):
        runtime_root()


def test_a_file_in_its_place_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PERFTUI_RUNTIME_DIR", str(tmp_path / "file"))
    with pytest.raises(Refused, match="file is not a directory"):
        runtime_root()


@pytest.mark.parametrize(
    ("variable", "find"), [("PERFTUI_RUNTIME_DIR", runtime_root), ("XDG_STATE_HOME", state_root)]
)
def test_a_folder_that_cannot_be_made_is_one_clear_line(
    variable: str, find: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "/proc/nowhere")
    with pytest.raises(Refused, match=f"cannot be made .*; set {variable}"):
        find()


def test_a_file_in_place_of_the_state_folder_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "perftui").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(Refused, match="is not a directory; set XDG_STATE_HOME"):
        state_root()


def test_a_socket_path_that_is_too_long_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFTUI_RUNTIME_DIR", str(tmp_path / ("d" * 100)))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r"the system allows 107: .*; set PERFTUI_RUNTIME_DIR"):
        _ = run_places("abc-1").dashboard_socket


@pytest.mark.parametrize("letter", ["d", "é", "漢"])
@pytest.mark.parametrize("excess", [0, 1])
def test_the_limit_of_a_socket_path_is_in_bytes(
    letter: str, excess: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """107 of them can be bound, 108 are refused before anything is made."""
    root = Path(tempfile.mkdtemp(prefix="pt-", dir="/tmp"))
    room = 107 + excess - len(f"{root}//abc-1/ranks.sock")
    size = len(letter.encode())
    name = letter * (room // size) + "x" * (room % size)
    monkeypatch.setenv("PERFTUI_RUNTIME_DIR", str(root / name))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    try:
        if excess:
            with pytest.raises(UsageError, match=r"socket path of 108 bytes, the system allows 107"):
                make_run_places("abc-1")
            return
        HubSockets(make_run_places("abc-1")).close()
    finally:
        shutil.rmtree(root)


@pytest.mark.parametrize(
    ("variable", "find"), [("PERFTUI_RUNTIME_DIR", runtime_root), ("XDG_STATE_HOME", state_root)]
)
def test_a_folder_whose_path_is_not_utf8_is_one_clear_line(
    variable: str, find: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, f"{tmp_path}/caf\udce9")
    with pytest.raises(Refused, match=rf"caf\\udce9.* is not UTF-8; set {variable} to a folder"):
        find()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["job", "rank0", "shell"])
def test_all_processes_of_a_run_mean_the_same_sockets(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever temporary folder a job, a rank or the script itself has."""
    assert Path("/tmp") == places.TEMPORARY
    monkeypatch.setattr(places, "TEMPORARY", tmp_path)
    monkeypatch.delenv("PERFTUI_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path / name))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    (tmp_path / name).mkdir()
    assert runtime_root() == tmp_path / f"perftui-{os.getuid()}"


@pytest.mark.parametrize(
    "text", ["", "ab", "../../etc", "a/b/c", ".hidden", "UPPER", "a b c", "a" * 62, "abc\n"]
)
def test_what_cannot_be_a_run_never_becomes_a_path(text: str, runtime_dirs: object) -> None:
    with pytest.raises(NoSuchRun, match="perftui ls"):
        run_places(text)


def test_asking_for_places_makes_nothing(runtime_dirs: object) -> None:
    run = run_places("abc-1")
    assert not run.runtime.exists()
    assert not run.state.exists()
