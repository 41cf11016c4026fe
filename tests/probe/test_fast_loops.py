"""Loops of far more than 10,000 steps a second, under a real hub: nothing is said, memory is bounded, and
every step is either received or counted as dropped."""

import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perftui.ipc.hub_lock import hub_lock_is_held
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.messages import FromRank, Goodbye, StepBatch
from perftui.ipc.rank_link import QUEUED_FRAMES
from perftui.ipc.recording import read_recording
from perftui.ipc.run_files import RunDescription, write_record
from perftui.trainer.hub.step_log import RAW_STEPS
from perftui.trainer.probe.stamp_reader import STEPS_KEPT
from perftui.trainer.probe.stamps import STAMPS_KEPT
from perftui.trainer.probe.telegrams import STEPS_PER_FRAME
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.slow]

MIB = 1 << 20
STAMP_BYTES = 32 + 96 + 32 + 88
"""In the ring, as four places and three numbers of their own; and while it is read, in a list and a tuple."""
STEP_BYTES = 700
"""As a row of twelve numbers, and as its part of the columns of a frame."""
FRAME_BYTES = STEPS_PER_FRAME * 12 * 9
LIBRARIES_BYTES = 32 * MIB
"""What a process brings in when its first step comes, and what its allocator keeps."""
RANK_MOST = (
    STAMPS_KEPT * STAMP_BYTES + STEPS_KEPT * STEP_BYTES + QUEUED_FRAMES * FRAME_BYTES + LIBRARIES_BYTES
)
HUB_MOST = RAW_STEPS * STEP_BYTES + QUEUED_FRAMES * FRAME_BYTES + LIBRARIES_BYTES

LOOPS = {
    # without a loader: two stamps a step, one optimizer
    "optimizer": """
weight = torch.nn.Parameter(torch.zeros(1))
weight.grad = torch.ones(1)
step = torch.optim.SGD([weight], 0.1).step
train(step, 150_000)
""",
    # one stamp a step; and for a while no other thread gets to run, so that the ring overflows
    "told": """
from perftui.trainer import watch
step = watch().step
train(step, 100_000)
sys.setswitchinterval(1000)
train(step, STAMPS_KEPT * 2 + 12_345)
sys.setswitchinterval(0.005)
train(step, 1_000_000)
""",
}
HEAD = f"""
import json, sys, time, torch
STAMPS_KEPT = {STAMPS_KEPT}
torch.set_num_threads(1)
count = most = first = 0

def resident():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) * 1024

def train(step, steps):
    global count, most, first
    first = first or resident()
    for number in range(steps):
        step()
        if number % 5000 == 0:
            most = max(most, resident())
    count += steps
"""
TAIL = """
from perftui.trainer.probe import install
recorder = install.install().recorder
while recorder.reader.stamps_read + recorder.ring.lost < recorder.ring.written - 100:
    train(step, 1)  # at an easy pace until all is read: a process that ends waits for 0.3 s only
    time.sleep(0.005)
print(json.dumps({"steps": count, "grown": most - first}))
"""


def resident(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


class RealHub:
    """A hub's process, and how much it grows."""

    def __init__(self, hub: "Hub") -> None:
        self.places = hub.places
        command = [sys.executable, "-m", "perftui.trainer.hub", hub.places.run_id]
        self.process = subprocess.Popen(command, cwd=hub.places.state)
        wait_until(lambda: hub_lock_is_held(hub.places.hub_lock), "the hub is there")
        self._first = self._most = resident(self.process.pid)

    def look(self) -> None:
        """Read its memory."""
        self._most = max(self._most, resident(self.process.pid))

    @property
    def grown(self) -> int:
        return self._most - self._first

    def messages(self) -> list[FromRank]:
        if not any(self.places.recording.iterdir()):
            return []
        entries = read_recording(self.places.recording)
        return [entry.message for entry in entries if entry.message is not None]

    def has_heard_all(self) -> bool:
        return any(isinstance(message, Goodbye) for message in self.messages())


@contextmanager
def real_hub(hub: "Hub") -> Generator[RealHub, None, None]:
    """A real hub in the place of the test's."""
    hub.close()
    description = RunDescription(
        run_id=hub.places.run_id,
        name="fast",
        command=["python", "train.py"],
        cwd=str(hub.work),
        host="h",
        started_unix=time.time(),
    )
    write_record(hub.places.description, description)
    real = RealHub(hub)
    try:
        yield real
    finally:
        real.process.terminate()
        real.process.wait()
        hub.sockets = HubSockets(hub.places)


@dataclass
class Told:
    """What the script said of itself, and what came of it."""

    script: dict[str, int]
    stderr: str
    hub_grown: int
    messages: list[FromRank]


def run_under(real: RealHub, hub: "Hub", script: str) -> Told:
    path = hub.work / "train.py"
    path.write_text(script)
    with (hub.work / "out").open("w+") as out, (hub.work / "err").open("w+") as err:
        process = subprocess.Popen(
            [sys.executable, str(path)], cwd=hub.work, env=hub.environment(), stdout=out, stderr=err
        )
        try:

            def over() -> bool:
                real.look()
                return process.poll() is not None

            wait_until(over, "the training ends")
        finally:
            process.kill()
            process.wait()
        wait_until(real.has_heard_all, "the hub has heard all")
        out.seek(0)
        err.seek(0)
        return Told(json.loads(out.read()), err.read(), real.grown, real.messages())


@pytest.mark.parametrize("loop", LOOPS)
def test_nothing_is_said_memory_is_bounded_and_every_step_is_accounted_for(hub: "Hub", loop: str) -> None:
    with real_hub(hub) as real:
        told = run_under(real, hub, HEAD + LOOPS[loop] + TAIL)
    assert told.stderr == ""
    batches = [message for message in told.messages if isinstance(message, StepBatch)]
    (goodbye,) = (message for message in told.messages if isinstance(message, Goodbye))
    numbers = [number for batch in batches for number in range(batch.first_step, _next_step(batch))]
    assert len(numbers) + goodbye.dropped == told.script["steps"]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == told.script["steps"] - 1
    assert goodbye.errors == 0
    if loop == "told":
        assert goodbye.dropped > STAMPS_KEPT
        assert batches[-1].dropped == goodbye.dropped
    ends = [end for batch in batches for end in batch.end_ns]
    assert ends == sorted(ends)
    assert told.script["grown"] < RANK_MOST
    assert told.hub_grown < HUB_MOST


def _next_step(batch: StepBatch) -> int:
    return batch.first_step + len(batch.end_ns)
