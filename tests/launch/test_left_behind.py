"""Trainings that a command leaves in the background: they are read on for as long as they write."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perftui.ipc.places import RunPlaces, run_places
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record
from perftui.trainer.launch.family import send_signal
from perftui.trainer.launch.runs import list_runs
from perftui.trainer.launch.start import wait_for_exit
from perftui.trainer.telemetry.processes import tagged_pids
from tests.launch.entry import ENTRY

Start = Callable[..., RunPlaces]
Ended = Callable[[RunPlaces], ExitRecord]
Until = Callable[..., None]

TRAINS = """
import sys, time
from pathlib import Path
number, seconds, every_s = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
end = time.monotonic() + seconds
while time.monotonic() < end:
    sys.stdout.write(f"train {number}\\n")  # by one call: four write at once
    sys.stdout.flush()
    sys.stderr.write(f"to stderr {number}\\n")
    time.sleep(every_s)
sys.stdout.write(f"last {number}\\n")
sys.stdout.flush()
Path(sys.argv[0]).with_name("ended" + number).write_text("whole")
"""
COUNT = 4


@pytest.fixture
def leaves(home: Path, until: Until) -> Iterator[Callable[..., list[str]]]:
    """Return the command that leaves four trainings behind; of them nothing is left afterwards."""

    def command(seconds: float, every_s: float, *, after: str = "exit 5", to: str = "") -> list[str]:
        (home / "train.py").write_text(TRAINS)
        line = f"{sys.executable} {home / 'train.py'} $number {seconds} {every_s} {to} &"
        text = f"for number in 1 2 3 4; do {line}\ndone\necho said by the script\n{after}\n"
        (home / "all.sh").write_text(text)
        return ["bash", str(home / "all.sh")]

    yield command
    for line in list_runs():
        for pid, ticks in tagged_pids(line.run_id).items():
            send_signal(pid, ticks, signal.SIGKILL)
    until(lambda: not any(tagged_pids(line.run_id) for line in list_runs()), "none is left")


def ended_of(home: Path) -> int:
    return len(list(home.glob("ended?")))


def lasts(text: bytes) -> int:
    return text.count(b"last ")


@pytest.mark.slow
@pytest.mark.parametrize("stdio", ["pty", "pipes", "log"])
@pytest.mark.parametrize("every_s", [1.0, 0.01], ids=["with gaps", "without a gap"])
def test_they_go_on_and_the_exit_is_recorded_at_once(
    start: Start,
    home: Path,
    until: Until,
    leaves: Callable[..., list[str]],
    stdio: str,
    every_s: float,
) -> None:
    places = start(leaves(10.0, every_s), stdio=stdio, hub=None)
    record = wait_for_exit(places, 6.0)
    assert record is not None, "its exit waits for what it has left behind"
    assert (record.exit_code, record.survivors) == (5, [])
    assert ended_of(home) == 0
    until(lambda: ended_of(home) == COUNT, "all go on to their end", 40)
    until(lambda: lasts(places.console.read_bytes()) == COUNT, "all of it is kept")
    assert b"said by the script\n" in places.console.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("every_s", [1.0, 0.01], ids=["with gaps", "without a gap"])
def test_the_foreground_returns_and_what_they_print_goes_where_it_went(
    home: Path, leaves: Callable[..., list[str]], every_s: float
) -> None:
    with subprocess.Popen(
        [*ENTRY, "run", "--no-tui", "--", *leaves(12.0, every_s)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        # whoever reads to the end reads what they print, as without us
        out, error = process.communicate(timeout=60)
    assert process.returncode == 5
    assert (lasts(out), ended_of(home)) == (COUNT, COUNT)
    closing = error.index(b"exit code 5")
    assert b"to stderr" in error[closing:], "it returned only when they had ended"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("to", "stderr"),
    [(">/dev/null", subprocess.DEVNULL), (">/dev/null 2>&1", subprocess.STDOUT)],
    ids=["one", "both in one"],
)
def test_a_stream_that_they_do_not_hold_ends_with_the_command(
    home: Path, leaves: Callable[..., list[str]], to: str, stderr: int
) -> None:
    """As `perftui run -- bash all.sh | tee log` with trainings that write into files of their own."""
    began = time.monotonic()
    with subprocess.Popen(
        [*ENTRY, "run", "--no-tui", "--", *leaves(12.0, 0.5, to=to)],
        stdout=subprocess.PIPE,
        stderr=stderr,
    ) as process:
        assert process.stdout is not None
        lines = [line for line in process.stdout.read().splitlines() if not line.startswith(b"perftui: ")]
        assert lines == [b"said by the script"]
        assert time.monotonic() - began < 10
    assert ended_of(home) == 0
    (line,) = list_runs()
    while tagged_pids(line.run_id) and time.monotonic() - began < 40:
        time.sleep(0.1)
    assert ended_of(home) == COUNT


@pytest.mark.slow
def test_who_writes_to_its_input_learns_of_the_commands_end(
    home: Path, leaves: Callable[..., list[str]]
) -> None:
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        done = subprocess.run(
            [*ENTRY, "run", "--no-tui", "--", *leaves(600.0, 0.5)],
            stdin=writer.stdout,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        writer.stdout.close()
        try:
            assert done.returncode == 5
            assert writer.wait(5) == -signal.SIGPIPE
        finally:
            writer.kill()


@pytest.mark.slow
def test_a_stalled_reader_of_one_stream_holds_up_no_exit(
    home: Path, leaves: Callable[..., list[str]]
) -> None:
    """The other stream goes on moving all the time."""
    command = leaves(600.0, 0.01, after="head -c 100000 /dev/zero >&2; exit 5", to="2>/dev/null")
    with subprocess.Popen(
        [*ENTRY, "run", "--no-tui", "--", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()  # and nothing more
        deadline = time.monotonic() + 30
        while not (runs := list_runs()) or read_exit(runs[0].run_id) is None:
            assert time.monotonic() < deadline, "no exit is recorded"
            time.sleep(0.1)
        for pid, ticks in tagged_pids(runs[0].run_id).items():
            send_signal(pid, ticks, signal.SIGKILL)
        process.stderr.read()
        assert process.wait(60) == 5


def read_exit(run_id: str) -> ExitRecord | None:
    return read_record(run_places(run_id).exit_record, ExitRecord)


@pytest.mark.slow
@pytest.mark.parametrize("stdio", ["pty", "pipes"])
def test_a_killed_keepers_hub_reads_on_after_the_commands_end(
    start: Start, home: Path, until: Until, leaves: Callable[..., list[str]], stdio: str
) -> None:
    places = start(leaves(14.0, 0.5, after="sleep 3"), stdio=stdio, hub=None)
    until((places.runtime / "dash.sock").exists, "its hub is there")
    description = read_record(places.description, RunDescription)
    assert description is not None
    os.kill(description.keeper_pid or 0, signal.SIGKILL)
    until(lambda: ended_of(home) == COUNT, "all go on to their end", 40)
    until(lambda: lasts(places.console.read_bytes()) == COUNT, "all of it is kept")
    lost = wait_for_exit(places, 10)
    assert lost is not None
    assert lost.outcome == "lost"
