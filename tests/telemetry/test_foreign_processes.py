"""Who on a GPU is not the run's: real processes, named as a driver names them."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from perftui.trainer.telemetry.foreign_processes import UNKNOWN, OwnProcesses, foreigners_among
from perftui.trainer.telemetry.gpu_readings import DriverProcess

RUN = "run-of-this-test"
WAIT = "import sys; sys.stdin.read()"
PARENT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {WAIT!r}], stdin=sys.stdin)
print(child.pid, flush=True)
child.wait()
"""


@contextmanager
def process(code: str = WAIT, **environment: str) -> Generator["subprocess.Popen[str]", None, None]:
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as started:
        yield started
        assert started.stdin is not None
        started.stdin.close()


def listed(*pids: int) -> list[DriverProcess]:
    return [DriverProcess(pid=pid, memory_mib=100.0 + place) for place, pid in enumerate(pids)]


def test_somebody_else_is_named_with_its_memory() -> None:
    with process() as rank, process() as other:
        own = OwnProcesses(RUN, frozenset({rank.pid}))
        found = foreigners_among(listed(rank.pid, other.pid), [rank.pid], own)
        assert found.reason is None
        assert found.processes is not None
        (foreign,) = found.processes
        assert (foreign.pid, foreign.memory_mib) == (other.pid, 101.0)
        assert (foreign.name or "").startswith("python")


def test_what_a_rank_started_and_what_carries_the_tag_is_ours() -> None:
    with process(PARENT) as rank, process(PERFTUI_RUN_ID=RUN) as tagged:
        assert rank.stdout is not None
        child = int(rank.stdout.readline())
        own = OwnProcesses(RUN, frozenset({rank.pid}))
        assert foreigners_among(listed(rank.pid, child, tagged.pid), [rank.pid], own).processes == []
        other_run = OwnProcesses("another-run", frozenset({rank.pid}))
        found = foreigners_among(listed(rank.pid, tagged.pid), [rank.pid], other_run).processes
        assert found is not None
        assert [each.pid for each in found] == [tagged.pid]


def test_pids_of_another_namespace_say_nothing() -> None:
    own = OwnProcesses(RUN, frozenset({os.getpid()}))
    found = foreigners_among(listed(1, 2, 3), [os.getpid()], own)
    assert (found.processes, found.reason) == (None, UNKNOWN)
    found = foreigners_among([], [os.getpid()], own)
    assert found.processes is None
    assert "no process at all" in (found.reason or "")


def test_a_process_that_cannot_be_looked_up_has_no_name() -> None:
    with process() as ended:
        pid = ended.pid
    own = OwnProcesses(RUN, frozenset({os.getpid()}))
    found = foreigners_among(listed(os.getpid(), pid), [os.getpid()], own).processes
    assert found is not None
    assert [(each.pid, each.name) for each in found] == [(pid, None)]
