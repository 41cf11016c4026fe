"""Processes as /proc shows them: who they are, whose children, and which carry a run's tag.

Apart, and standard library only, because the keeper needs it and must not depend on anything that can fail.
A process is named for good by (pid, start ticks): a pid alone is given away again.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_ENDED = frozenset("ZX")


@dataclass(frozen=True)
class ProcessStat:
    """Part of /proc/PID/stat."""

    pid: int
    name: str
    state: str
    """One letter: R running, S sleeping, D waiting for a device, Z ended and not yet collected."""
    parent: int
    start_ticks: int
    """Start of the process in clock ticks since boot (field 22)."""

    @property
    def stopped(self) -> bool:
        """Whether a signal has stopped it (Ctrl-Z): it takes no notice of others until it is continued."""
        return self.state == "T"

    @property
    def ended(self) -> bool:
        """Whether it has ended and only waits to be collected."""
        return self.state in _ENDED


def process_stat(pid: int) -> ProcessStat | None:
    """Read one process; None when there is none."""
    try:
        text = (_PROC / str(pid) / "stat").read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    # the name stands in brackets and may itself hold blanks and brackets
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    if len(fields) < 20:
        return None
    return ProcessStat(pid, head.partition("(")[2], fields[0], int(fields[1]), int(fields[19]))


def start_ticks(pid: int) -> int | None:
    """Return the start time of a process that has not ended, in clock ticks since boot; else None."""
    stat = process_stat(pid)
    return None if stat is None or stat.ended else stat.start_ticks


def is_alive(pid: int, ticks: int) -> bool:
    """Whether the very process that started at `ticks` has not ended."""
    return start_ticks(pid) == ticks


def ignores(pid: int, number: int) -> bool:
    """Whether a process has the system drop that signal, as what a shell starts by `&` does with SIGINT."""
    try:
        status = (_PROC / str(pid) / "status").read_text("utf-8", "replace")
        mask = int(status.partition("SigIgn:")[2].split()[0], 16)
    except (OSError, ValueError, IndexError):  # it has ended
        return False
    return bool(mask >> (number - 1) & 1)


def all_pids() -> Iterator[int]:
    """Yield the pid of every process that this user may see."""
    with os.scandir(_PROC) as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    yield from pids


def is_tagged(pid: int, run_id: str) -> bool:
    """Whether a process of this user was started with this run's tag in its environment."""
    folder = _PROC / str(pid)
    try:
        if folder.stat().st_uid != os.geteuid():
            return False
        environment = (folder / "environ").read_bytes()
    except OSError:
        return False
    return f"PERFTUI_RUN_ID={run_id}".encode() in environment.split(b"\0")


def tagged_pids(run_id: str) -> dict[int, int]:
    """Return pid → start ticks of this user's living processes that carry the run's tag."""
    found: dict[int, int] = {}
    for pid in all_pids():
        if is_tagged(pid, run_id) and (ticks := start_ticks(pid)) is not None:
            found[pid] = ticks
    return found


def descendants(*roots: int) -> dict[int, int]:
    """Return pid → start ticks of the living children of `roots`, their children, and so on; one scan."""
    children: dict[int, list[ProcessStat]] = {}
    for pid in all_pids():
        stat = process_stat(pid)
        if stat is not None:
            children.setdefault(stat.parent, []).append(stat)
    found: dict[int, int] = {}
    open_pids = list(roots)
    while open_pids:
        for stat in children.pop(open_pids.pop(), ()):
            open_pids.append(stat.pid)
            if not stat.ended:
                found[stat.pid] = stat.start_ticks
    return found
