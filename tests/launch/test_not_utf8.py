"""Arguments, folders and variables that are no UTF-8: the training gets them as they are, and is seen."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from perftui.ipc.errors import Refused
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record
from perftui.trainer.launch.runs import list_runs
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import launch
from perftui.trainer.tuning.plan import RelaunchPlan
from perftui.trainer.tuning.search.tune_verb import Asked, tune_verb
from perftui.trainer.tuning.subject import find_subject
from tests.launch.entry import ENTRY

Script = Callable[[str], list[str]]
CAFE = b"caf\xe9"
GIVEN = """
import os, sys
for said in (sys.argv[1], os.getcwd(), os.environ["PYTHONPATH"]):
    sys.stdout.buffer.write(os.fsencode(said) + b"\\n")
"""


@pytest.fixture
def cafe(home: Path) -> bytes:
    """A folder whose name is no UTF-8."""
    path = os.path.join(os.fsencode(home), CAFE)  # noqa: PTH118 - bytes
    try:
        os.mkdir(path)  # noqa: PTH102
    except OSError:
        pytest.skip("no such names on this file system")
    return path


def perftui(*words: str | bytes, cwd: bytes, **more: bytes) -> "subprocess.CompletedProcess[bytes]":
    environment = {**os.environb, **{os.fsencode(name): value for name, value in more.items()}}
    return subprocess.run(
        [*ENTRY, *words], cwd=cwd, env=environment, capture_output=True, check=False, timeout=60
    )


def test_a_training_gets_the_very_bytes_and_its_run_is_told(script: Script, cafe: bytes) -> None:
    command: list[str | bytes] = [*script(GIVEN), CAFE + b".pt"]
    done = perftui("run", "--no-tui", "--json", "sum.json", "--", *command, cwd=cafe, PYTHONPATH=cafe)
    assert done.returncode == 0, done.stderr
    argument, folder, python_path = done.stdout.splitlines()
    assert (argument, folder) == (CAFE + b".pt", cafe)
    assert python_path.split(b":")[-1] == cafe
    (line,) = list_runs()
    assert (line.state, line.exit_code, line.command[-1]) == ("finished", 0, "caf\ufffd.pt")
    with open(os.path.join(cafe, b"sum.json"), "rb") as stream:  # noqa: PTH118, PTH123
        assert json.load(stream)["command"][-1] == "caf\ufffd.pt"
    listed = perftui("ls", "--json", cwd=cafe)
    assert json.loads(listed.stdout)["runs"][0]["command"][-1] == "caf\ufffd.pt"


def test_a_command_that_cannot_be_executed_ends_with_its_name(
    start: Callable[..., object], ended: Callable[..., ExitRecord], cafe: bytes
) -> None:
    tool = os.path.join(cafe, b"tool\xff")  # noqa: PTH118
    with open(tool, "wb") as stream:  # noqa: PTH123
        stream.write(b"\x7fnot a program")
    os.chmod(tool, 0o755)  # noqa: PTH101
    record = ended(start([os.fsdecode(tool)]))
    assert record.exit_code == 126
    assert "caf\ufffd/tool\ufffd" in record.last_lines[0]


def test_exports_of_an_armed_shell_keep_the_bytes(cafe: bytes) -> None:
    done = perftui("env", cwd=cafe, PYTHONPATH=cafe, PYTHONIOENCODING=b"utf-8:strict")
    assert done.returncode == 0, done.stderr
    told = subprocess.run(
        [b"bash", b"-c", done.stdout + b'printf %s "$PYTHONPATH"'], capture_output=True, check=True
    )
    assert told.stdout.split(b":")[-1] == cafe


def test_nothing_is_left_of_a_launch_that_fails(
    home: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_state: Path) -> None:
        raise ValueError("whatever it is")

    monkeypatch.setattr("perftui.trainer.launch.start.take_reserve", fails)
    with pytest.raises(ValueError, match="whatever"):
        launch(LaunchSpec(script(""), home, stdio="log"), hub=[])
    assert list((home / "state" / "perftui" / "runs").iterdir()) == []


@pytest.mark.parametrize("where", ["command", "folder"])
def test_what_was_written_down_with_a_mark_is_not_launched_again(
    where: str, home: Path, script: Script, start: Callable[..., object], ended: Callable[..., ExitRecord]
) -> None:
    """Another file may bear the name with the mark in it."""
    command = script("")
    cwd = str(home)
    if where == "command":
        command = [*command, os.fsdecode(CAFE)]
    else:
        cwd = f"{home}/{os.fsdecode(CAFE)}"
    plan = RelaunchPlan(command=command, cwd=cwd, set={"loader.num_workers": 2})
    with pytest.raises(Refused, match="caf\ufffd' is not UTF-8, so it cannot be launched again"):
        find_subject(plan)
    if where == "command":
        with pytest.raises(Refused, match="is not UTF-8"):
            tune_verb(Asked(command=command, yes=True), None)
        places = start(command)
        ended(places)
        description = read_record(places.description, RunDescription)  # type: ignore[attr-defined]
        assert description is not None
        with pytest.raises(Refused, match="is not UTF-8"):
            find_subject(RelaunchPlan(run_id=description.run_id, set={"loader.num_workers": 2}))
