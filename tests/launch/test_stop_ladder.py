"""The stop ladder on real processes: what must end ends, what is not ours stays."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import ExitRecord
from perftui.trainer.launch.family import send_signal
from perftui.trainer.launch.start import request_stop
from perftui.trainer.launch.stop_ladder import restarts_ranks
from perftui.trainer.telemetry.processes import process_stat, start_ticks, tagged_pids

Start = Callable[..., RunPlaces]
Ended = Callable[[RunPlaces], ExitRecord]
Script = Callable[[str], list[str]]
Until = Callable[..., None]

SAVES = """
import signal, sys, time
def save(*_):
    open({saved!r}, "w").write("whole"); sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
time.sleep(600)
"""
IGNORES = """
import signal, time
signal.signal(signal.SIGTERM, lambda *_: print("asked", flush=True))
print("ready", flush=True)
while True: time.sleep(1)
"""
LOADS = """
import signal, sys, torch
from torch.utils.data import DataLoader, Dataset
torch.set_num_threads(1)
class Data(Dataset):
    def __len__(self): return 10 ** 6
    def __getitem__(self, at): return torch.zeros(4)
stop = []
def ask(*_): stop.append(1)
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, ask)
    for at, batch in enumerate(DataLoader(Data(), batch_size=4, num_workers=2)):
        if at == 5: print("ready", flush=True)
        if stop: break
    open({saved!r}, "w").write("whole")
"""
RANKS = """
import os, signal, sys, torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
sys.stdout.write(f"rank {{rank}} {{os.getpid()}}\\n")  # whole: two ranks print at once
sys.stdout.flush()
while True:
    flag = torch.tensor([float(bool(stop))])
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    if flag.item(): break
open({saved!r} + str(rank), "w").write("whole")
dist.destroy_process_group()
"""


@pytest.fixture
def decoy() -> "Iterator[subprocess.Popen[bytes]]":
    """A process of the same user that has nothing to do with the run."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    assert process.poll() is None, "the ladder ended what is not ours"
    process.kill()
    process.wait()


def ready(places: RunPlaces, until: Until, word: str = "ready") -> None:
    until(lambda: places.console.exists() and word in places.console.read_text(), f"{word!r} is printed")


@pytest.mark.usefixtures("decoy")
def test_a_script_has_time_to_save(
    start: Start, ended: Ended, script: Script, home: Path, until: Until
) -> None:
    places = start(script(SAVES.format(saved=str(home / "saved"))))
    ready(places, until)
    request_stop(places, "user")
    record = ended(places)
    assert (record.exit_code, record.outcome, record.stopped_by) == (0, "stopped", "user")
    assert (home / "saved").read_text() == "whole"


@pytest.mark.usefixtures("decoy")
def test_one_that_ignores_the_question_is_killed(
    start: Start, ended: Ended, script: Script, until: Until
) -> None:
    places = start(script(IGNORES))
    ready(places, until)
    request_stop(places, "user", grace_s=0.5)
    record = ended(places)
    assert (record.exit_code, record.outcome, record.survivors) == (-signal.SIGKILL, "stopped", [])


def test_a_second_request_hurries(start: Start, ended: Ended, script: Script, until: Until) -> None:
    places = start(script(IGNORES))
    ready(places, until)
    request_stop(places, "steps", grace_s=3600)
    ready(places, until, "asked")
    request_stop(places, "user", grace_s=0)
    assert ended(places).stopped_by == "steps"


@pytest.mark.torch
def test_loader_workers_do_not_spoil_the_save(
    start: Start, ended: Ended, script: Script, home: Path, until: Until
) -> None:
    places = start(script(LOADS.format(saved=str(home / "saved"))))
    ready(places, until)
    assert len(tagged_pids(places.run_id)) >= 3
    request_stop(places, "user")
    record = ended(places)
    assert (record.exit_code, record.survivors) == (0, [])
    assert (home / "saved").read_text() == "whole"


@pytest.mark.torch
def test_workers_of_a_killed_rank_are_cleared_away(
    start: Start, ended: Ended, script: Script, home: Path, until: Until
) -> None:
    places = start(script(LOADS.format(saved=str(home / "saved"))))
    ready(places, until)
    members = tagged_pids(places.run_id)
    (rank,) = [pid for pid in members if (stat := process_stat(pid)) and stat.parent not in members]
    assert send_signal(rank, members[rank], signal.SIGKILL)
    assert ended(places).exit_code == -signal.SIGKILL
    assert tagged_pids(places.run_id) == {}


def test_a_training_under_a_shell_script_is_asked_too(
    start: Start, ended: Ended, script: Script, home: Path, until: Until
) -> None:
    command = " ".join(script(SAVES.format(saved=str(home / "saved"))))
    places = start(["sh", "-c", f"{command}; echo after"])
    ready(places, until)
    request_stop(places, "user")
    assert ended(places).outcome == "stopped"
    assert (home / "saved").read_text() == "whole"


def test_a_child_that_cleaned_its_environment_is_found(
    start: Start, ended: Ended, script: Script, home: Path, until: Until
) -> None:
    child = script(IGNORES)
    text = (
        "import subprocess, sys, time\n"
        f"p = subprocess.Popen([sys.executable, {child[1]!r}], env={{}}, start_new_session=True)\n"
        f"open({str(home / 'pid')!r}, 'w').write(str(p.pid)); time.sleep(600)"
    )
    places = start(script(text))
    ready(places, until)
    pid = int((home / "pid").read_text())
    ticks = start_ticks(pid)
    request_stop(places, "user", grace_s=0.5)
    assert ended(places).survivors == []
    assert start_ticks(pid) != ticks


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.usefixtures("decoy")
def test_torchrun_ranks_save_and_the_agent_ends_well(
    start: Start, ended: Ended, script: Script, home: Path, until: Until
) -> None:
    path = script(RANKS.format(saved=str(home / "saved")))[1]
    places = start(["torchrun", "--standalone", "--nproc-per-node=2", path])
    until(lambda: places.console.exists() and places.console.read_text().count("rank ") == 2, "two ranks")
    words = [line.split() for line in places.console.read_text().splitlines() if line.startswith("rank ")]
    pids = [int(line[2]) for line in words]
    request_stop(places, "user", [(pid, start_ticks(pid) or 0) for pid in pids])
    record = ended(places)
    assert (record.exit_code, record.outcome) == (0, "stopped")
    assert [(home / f"saved{rank}").read_text() for rank in (0, 1)] == ["whole", "whole"]


def test_pids_that_are_not_of_the_run_are_never_signalled(
    start: Start, ended: Ended, script: Script, home: Path, until: Until, decoy: "subprocess.Popen[bytes]"
) -> None:
    places = start(script(SAVES.format(saved=str(home / "saved"))))
    ready(places, until)
    request_stop(places, "user", [(decoy.pid, start_ticks(decoy.pid) or 0)])
    assert ended(places).exit_code == 0
    assert (home / "saved").read_text() == "whole"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["torchrun", "--nproc-per-node=2", "train.py"], False),
        (["torchrun", "--max-restarts=2", "train.py"], True),
        (["torchrun", "--max_restarts", "3", "train.py"], True),
        (["torchrun", "--max-restarts=0", "train.py"], False),
    ],
)
def test_who_restarts_ranks(command: list[str], *, expected: bool) -> None:
    assert restarts_ranks(command) is expected
