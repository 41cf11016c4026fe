"""A made-up training with a real hub: starts the hub and the processes that speak for the ranks."""

import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.simulator.job import Job, begun
from benchmarks.simulator.speaker import Order
from perftui.ipc.places import RunPlaces, make_run_places
from perftui.ipc.run_files import RunDescription, write_record
from perftui.trainer.launch.start import hub_command

RANKS_A_PROCESS = 512
_START_S = 20.0
_END_S = 10.0


@dataclass(frozen=True)
class Simulation:
    """A simulation that goes on."""

    job: Job
    """With the time at which it began."""
    places: RunPlaces
    hub: "subprocess.Popen[bytes]"
    speakers: "tuple[subprocess.Popen[bytes], ...]"

    @property
    def run_id(self) -> str:
        """The run, as dashboards find it."""
        return self.job.run_id

    def wait(self, seconds: float) -> None:
        """Let it go on for so long.

        Raises:
            SystemExit: the hub or a speaker has ended meanwhile.
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.hub.poll() is not None or any(each.poll() for each in self.speakers):
                raise SystemExit(f"the simulation broke down; see {self.places.state}")
            time.sleep(min(0.5, max(0.0, until - time.monotonic())))


@contextlib.contextmanager
def simulated(job: Job, seconds: float | None = None, *, keep: bool = False) -> Generator[Simulation]:
    """Run a job until the block ends; its folders go with it, unless they are to be kept.

    Args:
        job: what to simulate; its times are set here.
        seconds: for how long the ranks speak; None: until the block ends.
        keep: leave the run's folder with its recording.
    """
    places = make_run_places(job.run_id)
    description = RunDescription(
        run_id=job.run_id,
        name=f"simulated-{job.ranks}",
        command=["python", "train.py"],
        cwd=str(places.state),
        host=socket.gethostname(),
        started_unix=time.time(),
        owned=False,
        gpu_readings=False,
    )
    write_record(places.description, description)
    places.console.write_bytes(b"a made-up training: no process of it runs\n")
    with (places.state / "hub.log").open("wb") as log:
        hub = subprocess.Popen(
            hub_command(job.run_id), cwd=places.state, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    speakers: list[subprocess.Popen[bytes]] = []
    try:
        _wait_for(places, hub)
        job = begun(job)
        speakers = _speakers(job, seconds)
        yield Simulation(job, places, hub, tuple(speakers))
    finally:
        for process in (*speakers, hub):
            process.terminate()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if not keep:
            for folder in (places.runtime, places.state):
                shutil.rmtree(folder, ignore_errors=True)


def _speakers(job: Job, seconds: float | None) -> "list[subprocess.Popen[bytes]]":
    here = Path(__file__).resolve().parents[2]
    started: list[subprocess.Popen[bytes]] = []
    for first in range(0, job.ranks, RANKS_A_PROCESS):
        order = Order(job=job, first=first, count=min(RANKS_A_PROCESS, job.ranks - first), seconds=seconds)
        command = [sys.executable, "-m", "benchmarks.simulator.speaker", msgspec.json.encode(order).decode()]
        started.append(subprocess.Popen(command, cwd=here, stdin=subprocess.DEVNULL))
    return started


def _wait_for(places: RunPlaces, hub: "subprocess.Popen[bytes]") -> None:
    """Wait until the hub has bound its sockets."""
    path = Path(places.rank_socket.removeprefix("ipc://"))
    deadline = time.monotonic() + _START_S
    while not path.exists():
        if hub.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"the hub did not start: {(places.state / 'hub.log').read_text()[-500:]}")
        time.sleep(0.02)
