"""Started from a folder that is removed, or by a user whom nobody knows: one clear line, or as ever."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perftui.ipc import places
from perftui.ipc.errors import Refused
from perftui.trainer.launch.environment import training_additions
from perftui.trainer.launch.interpreter import InterpreterCheck
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.probe.start_hub import join_or_start
from perftui.tui.config.place import config_place
from tests.launch.entry import ENTRY

IN_A_REMOVED_FOLDER = "cd gone && rmdir ../gone && exec "
NAMES = ("HOME", "USER", "LOGNAME", "LNAME", "USERNAME", "XDG_STATE_HOME")


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--", "python", "-c", "pass"],
        ["tune", "--", "python", "-c", "pass"],
        ["tune", "--resume", "--", "python", "-c", "pass"],
    ],
)
def test_what_starts_in_a_removed_folder_is_one_clear_line(words: list[str], home: Path) -> None:
    done = in_a_removed_folder(words, home)
    assert (done.returncode, done.stdout) == (4, ""), done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("perftui: there is no current folder")


@pytest.mark.parametrize("words", [["ls"], ["ledger"], ["doctor"]])
def test_what_needs_no_folder_answers_there(words: list[str], home: Path) -> None:
    done = in_a_removed_folder(words, home)
    assert "Traceback" not in done.stderr
    if words != ["doctor"]:
        assert done.returncode == 0, done.stderr
    else:
        assert "there is no current folder" in done.stdout


def in_a_removed_folder(words: list[str], home: Path) -> "subprocess.CompletedProcess[str]":
    (home / "gone").mkdir()
    command = ["sh", "-c", IN_A_REMOVED_FOLDER + '"$@"', "sh", *ENTRY, *words]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def nobody() -> Iterator[None]:
    """Make this process one of a user of whom the system knows neither name nor home."""

    def unknown(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    with pytest.MonkeyPatch.context() as patched:
        for name in NAMES:
            patched.delenv(name, raising=False)
        patched.setattr("pwd.getpwuid", unknown)
        yield


@pytest.mark.usefixtures("nobody")
def test_a_user_without_a_home_is_told_what_to_set() -> None:
    with pytest.raises(Refused, match="set HOME, or XDG_STATE_HOME"):
        places.state_root()
    assert config_place(None, {}).path == Path("/.config/perftui/config.toml")


@pytest.mark.usefixtures("nobody")
def test_a_trial_of_a_user_without_a_name_has_the_cache_of_torch(tmp_path: Path) -> None:
    run = places.RunPlaces("abc-1", tmp_path, tmp_path)
    added = training_additions(run, LaunchSpec(["python"], tmp_path, trial=True), InterpreterCheck(), {})
    assert Path(added["TORCHINDUCTOR_CACHE_DIR"]).name == f"torchinductor_uid_{os.getuid()}"


def test_odd_letters_of_a_name_are_written_as_torch_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "DOMAIN\\some:one")
    run = places.RunPlaces("abc-1", tmp_path, tmp_path)
    added = training_additions(run, LaunchSpec(["python"], tmp_path, trial=True), InterpreterCheck(), {})
    assert Path(added["TORCHINDUCTOR_CACHE_DIR"]).name == "torchinductor_DOMAIN_some_one"


def test_an_armed_training_in_a_removed_folder_has_its_run(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "gone").mkdir()
    before = Path.cwd()

    def start_none(_places: places.RunPlaces) -> None:
        """Stand in for the start of a hub."""

    monkeypatch.setattr("perftui.trainer.probe.start_hub._start", start_none)
    os.chdir(home / "gone")
    (home / "gone").rmdir()
    try:
        made = join_or_start()
    finally:
        os.chdir(before)
    assert made.description.exists()


def test_an_interpreter_that_asks_for_more_starts_a_training(
    script: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PYTHONINSPECT=1: none of ours goes on asking."""
    monkeypatch.setenv("PYTHONINSPECT", "1")
    done = subprocess.run(
        [*ENTRY, "run", "--no-tui", "--", *script("print('trained')\nraise SystemExit(5)")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    plain = subprocess.run(
        [sys.executable, "-c", "print('trained')\nraise SystemExit(5)"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout == plain.stdout
    assert "did not start" not in done.stderr
    assert f"exit code {plain.returncode}" in done.stderr
