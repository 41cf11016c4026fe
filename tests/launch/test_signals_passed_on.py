"""Signals to a run whose command is a launcher or a script: the training under it has its time to save."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record
from perftui.trainer.launch.family import send_signal
from perftui.trainer.launch.start import request_stop
from perftui.trainer.telemetry.processes import start_ticks, tagged_pids
from tests.launch.entry import ENTRY

Start = Callable[..., RunPlaces]
Ended = Callable[[RunPlaces], ExitRecord]
Until = Callable[..., None]

TRAINS = """
import os, signal, sys, time
from pathlib import Path
here = Path(sys.argv[0]).parent
heard = []
def note(number, _frame):
    heard.append(signal.Signals(number).name)
    (here / "heard").write_text(" ".join(heard))
for name in sys.argv[2:]:
    signal.signal(getattr(signal, name), note)
print("ready", os.getpid(), flush=True)
while not heard:
    time.sleep(0.02)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    time.sleep(0.02)
(here / "saved").write_text("whole")
"""
SIMPLE_LAUNCHER = """
import subprocess, sys
process = subprocess.Popen([sys.executable, *sys.argv[1:]])
process.wait()
sys.exit(process.returncode)
"""
"""As `accelerate launch` does it on one device: interrupted, it waits a quarter of a second and ends."""
TIDY_LAUNCHER = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
subprocess.Popen([sys.executable, *sys.argv[1:]]).wait()
"""
BOTH = ("SIGINT", "SIGTERM")


@dataclass(frozen=True)
class Shape:
    """A command, what it is sent, and what its training must hear of it."""

    name: str
    command: Callable[[str, Path], list[str]]
    """From the training's words for a shell, and the folder."""
    number: signal.Signals
    heard: str
    code: int
    stopped_by: str


def _script(*lines: str) -> Callable[[str, Path], list[str]]:
    def command(training: str, folder: Path) -> list[str]:
        path = folder / "train.sh"
        path.write_text("".join(f"{line.format(training)}\n" for line in lines))
        return ["bash", str(path)]

    return command


def _launcher(text: str) -> Callable[[str, Path], list[str]]:
    def command(training: str, folder: Path) -> list[str]:
        path = folder / "launcher.py"
        path.write_text(text)
        return [sys.executable, str(path), *training.split()[1:]]

    return command


def _launcher_in_a_script(training: str, folder: Path) -> list[str]:
    inner = " ".join(_launcher(SIMPLE_LAUNCHER)(training, folder))
    return _script("{}", "true")(inner, folder)


SHAPES = (
    Shape("interrupted launcher", _launcher(SIMPLE_LAUNCHER), signal.SIGINT, "SIGINT", -2, "interrupt"),
    Shape("terminated launcher", _launcher(SIMPLE_LAUNCHER), signal.SIGTERM, "SIGTERM", -15, "terminate"),
    Shape("launcher with a code", _launcher(TIDY_LAUNCHER), signal.SIGTERM, "SIGTERM", 1, "terminate"),
    Shape("terminated script", _script("{}", "true"), signal.SIGTERM, "SIGTERM", -15, "terminate"),
    Shape("launcher in a script", _launcher_in_a_script, signal.SIGTERM, "SIGTERM", -15, "terminate"),
    # what a script starts by & ignores SIGINT, and what is in another session does not get it
    Shape("in the background", _script("{} &", "wait"), signal.SIGINT, "SIGTERM", -2, "interrupt"),
    Shape("in another session", _script("setsid {} &", "wait"), signal.SIGINT, "SIGTERM", -2, "interrupt"),
)  # fmt: skip


def started(start: Start, home: Path, until: Until, shape: Shape, save_s: float) -> RunPlaces:
    """Start it, and wait until its training trains."""
    (home / "train.py").write_text(TRAINS)
    hears = " ".join(["SIGTERM"] if shape.name == "in the background" else BOTH)
    places = start(shape.command(f"{sys.executable} {home / 'train.py'} {save_s} {hears}", home))
    until(lambda: places.console.exists() and b"ready" in places.console.read_bytes(), "it trains")
    return places


def to_keeper(places: RunPlaces, number: signal.Signals) -> None:
    description = read_record(places.description, RunDescription)
    assert description is not None
    assert description.keeper_pid is not None
    assert description.keeper_start_ticks is not None
    assert send_signal(description.keeper_pid, description.keeper_start_ticks, number)


def command_has_ended(places: RunPlaces) -> bool:
    description = read_record(places.description, RunDescription)
    assert description is not None
    return start_ticks(description.training_pid or 0) != description.training_start_ticks


def heard(home: Path) -> str:
    path = home / "heard"
    return path.read_text() if path.exists() else ""


@pytest.mark.slow
@pytest.mark.parametrize("shape", [pytest.param(shape, id=shape.name) for shape in SHAPES])
def test_the_training_is_told_once_and_saves(
    start: Start, ended: Ended, home: Path, until: Until, shape: Shape
) -> None:
    places = started(start, home, until, shape, 4.0)
    to_keeper(places, shape.number)
    record = ended(places)
    assert (home / "saved").exists(), "killed while it saved"
    assert heard(home) == shape.heard
    assert (record.exit_code, record.stopped_by, record.survivors) == (shape.code, shape.stopped_by, [])
    assert record.outcome == "stopped"


@pytest.mark.slow
def test_what_a_killed_command_leaves_is_asked_before_it_is_killed(
    start: Start, ended: Ended, home: Path, until: Until
) -> None:
    places = started(start, home, until, SHAPES[3], 4.0)
    description = read_record(places.description, RunDescription)
    assert description is not None
    os.kill(description.training_pid or 0, signal.SIGKILL)
    record = ended(places)
    assert (home / "saved").exists()
    assert heard(home) == "SIGTERM"
    assert (record.exit_code, record.stopped_by) == (-9, None)


def test_each_signal_after_the_commands_end_is_passed_on(
    start: Start, ended: Ended, home: Path, until: Until
) -> None:
    places = started(start, home, until, SHAPES[0], 2.0)
    to_keeper(places, signal.SIGINT)
    until(lambda: command_has_ended(places), "the launcher has ended")
    assert heard(home) == "SIGINT"
    to_keeper(places, signal.SIGINT)
    until(lambda: heard(home) == "SIGINT SIGINT", "it is interrupted once more")
    to_keeper(places, signal.SIGTERM)
    until(lambda: heard(home) == "SIGINT SIGINT SIGTERM", "it is asked")
    assert ended(places).stopped_by == "interrupt"
    assert (home / "saved").exists()


def test_a_stop_at_once_ends_what_saves_for_ever(
    start: Start, ended: Ended, home: Path, until: Until
) -> None:
    places = started(start, home, until, SHAPES[0], 600.0)
    to_keeper(places, signal.SIGINT)
    until(lambda: command_has_ended(places), "the launcher has ended")
    began = time.monotonic()
    request_stop(places, "user", grace_s=0.0)
    record = ended(places)
    assert (record.stopped_by, record.survivors, tagged_pids(places.run_id)) == ("interrupt", [], {})
    assert time.monotonic() - began < 10


@pytest.mark.slow
def test_timeout_ends_a_script_whose_training_saves(home: Path) -> None:
    """As `timeout 1h perftui run -- bash train.sh`: the group is told, of which the training is none."""
    (home / "train.py").write_text(TRAINS)
    command = SHAPES[3].command(f"{sys.executable} {home / 'train.py'} 12 SIGTERM", home)
    done = subprocess.run(
        ["timeout", "6", *ENTRY, "run", "--no-tui", "--", *command], capture_output=True, check=False
    )
    assert (home / "saved").exists(), done.stderr
    assert b"stopped by terminate, exit code -15" in done.stderr


LOOKS_UP = """
import signal, sys, time
asked = []
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT):
    signal.signal(number, lambda number, _: asked.append(signal.Signals(number).name))
print("ready", flush=True)
while not asked:
    time.sleep(0.02)
print("requeued by", *asked, flush=True)
"""
LETS_IT_BE = """
import time
print("ready", flush=True)
time.sleep(600)
"""
TIME_IS_UP = [signal.SIGUSR1, signal.SIGUSR2]
AS_WITHOUT_US = [*TIME_IS_UP, signal.SIGQUIT]
LAUNCHES = """
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, sys.argv[1]])
signal.signal(signal.SIGQUIT, signal.SIG_IGN)
sys.exit(child.wait())
"""


@pytest.mark.parametrize("number", AS_WITHOUT_US)
def test_what_a_batch_system_sends_reaches_the_training(home: Path, number: signal.Signals) -> None:
    """As `#SBATCH --signal=USR1@120` before `srun perftui run -- python train.py`: to the foreground."""
    (home / "train.py").write_text(LOOKS_UP)
    with subprocess.Popen(
        [*ENTRY, "run", "--no-tui", "--", sys.executable, str(home / "train.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.read() == f"requeued by {number.name}\n".encode()
        assert process.wait(60) == 0


def test_ctrl_backslash_is_for_all_processes_of_the_command(home: Path) -> None:
    """As on a terminal: a launcher that takes no notice does not keep it from its training."""
    (home / "train.py").write_text(LOOKS_UP)
    (home / "launch.py").write_text(LAUNCHES)
    launcher = [sys.executable, str(home / "launch.py"), str(home / "train.py")]
    with subprocess.Popen(
        [*ENTRY, "run", "--no-tui", "--", *launcher], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGQUIT)
        assert process.stdout.read() == b"requeued by SIGQUIT\n"
        assert process.wait(60) == 0


@pytest.mark.parametrize("number", AS_WITHOUT_US)
def test_a_keeper_that_gets_it_passes_it_on_and_lives(
    start: Start, ended: Ended, home: Path, until: Until, number: signal.Signals
) -> None:
    (home / "train.py").write_text(LOOKS_UP)
    places = start([sys.executable, str(home / "train.py")])
    until(lambda: places.console.exists() and places.console.read_bytes(), "it trains")
    to_keeper(places, number)
    record = ended(places)
    assert (record.exit_code, record.outcome, record.stopped_by) == (0, "finished", None)
    assert record.last_lines[-1] == f"requeued by {number.name}"


@pytest.mark.parametrize("number", AS_WITHOUT_US)
def test_a_script_without_a_handler_ends_by_it_as_without_us(home: Path, number: signal.Signals) -> None:
    (home / "train.py").write_text(LETS_IT_BE)
    command = [sys.executable, str(home / "train.py")]

    def code_of(words: list[str]) -> int:
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.send_signal(number)
            return process.wait(60)

    assert code_of(command) == -number
    assert code_of([*ENTRY, "run", "--no-tui", "--", *command]) == 128 + number


@pytest.mark.parametrize("number", AS_WITHOUT_US)
def test_one_that_is_ignored_where_we_start_stays_ignored(home: Path, number: signal.Signals) -> None:
    (home / "train.py").write_text(
        "import signal, sys\nfor number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT):\n"
        "    print(number.name, signal.getsignal(number) is signal.SIG_IGN)\n"
    )
    done = subprocess.run(
        [*ENTRY, "run", "--no-tui", "--", sys.executable, str(home / "train.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        preexec_fn=partial(signal.signal, number, signal.SIG_IGN),
    )
    expected = [f"{each.name} {each is number}" for each in AS_WITHOUT_US]
    assert done.stdout.decode().splitlines() == expected
