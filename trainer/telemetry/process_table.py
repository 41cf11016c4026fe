"""All living processes of a run as one reading of /proc/PID/stat each: the base of CPU, workers and threads.

Children are looked up anew at each reading: they may be born and gone between two of the caller's own looks,
and what is not seen as the run's would pass for others' work.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from perftui.trainer.telemetry.proc_files import read_line, whole_numbers

ProcessKey: TypeAlias = tuple[int, int]
"""Pid and start ticks: a pid alone is given away again."""

_ENDED = frozenset(("Z", "X"))


class ProcessReading(NamedTuple):
    """Part of /proc/PID/stat; times in clock ticks, counters since the process started."""

    pid: int
    name: str
    state: str
    parent: int
    minor_faults: int
    major_faults: int
    own_ticks: int
    """CPU time of all its threads."""
    children_ticks: int
    """CPU time of ended children that it has waited for, and of theirs."""
    threads: int
    start_ticks: int
    io_wait_ticks: int
    """Time that the main thread waited for a block device; 0 where the kernel does not account for it."""

    @property
    def key(self) -> ProcessKey:
        """What names the process for good."""
        return self.pid, self.start_ticks

    @property
    def ended(self) -> bool:
        """Whether it has ended and only waits to be collected."""
        return self.state in _ENDED


ProcessTable: TypeAlias = Mapping[ProcessKey, ProcessReading]


def parse_stat(pid: int, text: bytes) -> ProcessReading | None:
    """Read one line of /proc/PID/stat (`man 5 proc_pid_stat`); None when it is none."""
    # the name stands in brackets and may itself hold blanks and brackets
    head, _, tail = text.rpartition(b")")
    fields = tail.split()
    if len(fields) < 20:
        return None
    numbers = whole_numbers((b"0", *fields[1:20]))
    if not numbers:
        return None
    return ProcessReading(
        pid=pid,
        name=head.partition(b"(")[2].decode("utf-8", "replace"),
        state=fields[0].decode("ascii", "replace"),
        parent=numbers[1],
        minor_faults=numbers[7],
        major_faults=numbers[9],
        own_ticks=numbers[11] + numbers[12],
        children_ticks=numbers[13] + numbers[14],
        threads=numbers[17],
        start_ticks=numbers[19],
        io_wait_ticks=int(fields[39]) if len(fields) > 39 and fields[39].isdigit() else 0,
    )


def read_table(proc: Path, members: Mapping[int, int | None]) -> dict[ProcessKey, ProcessReading]:
    """Read these processes and their children, children's children, and so on; the dead are left out.

    A process that has ended and was not collected yet is in it: its times are nobody else's so far.

    Args:
        proc: where /proc is.
        members: pid to start ticks, where they are known: whoever has been given the pid since is left out.
    """
    found: dict[ProcessKey, ProcessReading] = {}
    base = str(proc)
    ahead = list(members)
    known = set(ahead)
    while ahead:
        pid = ahead.pop()
        reading = parse_stat(pid, read_line(f"{base}/{pid}/stat"))
        if reading is None or members.get(pid) not in (None, reading.start_ticks):
            continue
        found[reading.key] = reading
        # of the main thread only, which starts the workers; the kernel may be built without this file
        for child in whole_numbers(read_line(f"{base}/{pid}/task/{pid}/children").split()):
            if child not in known:
                known.add(child)
                ahead.append(child)
    return found
