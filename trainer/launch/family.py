"""The processes of one training: found by tag or by descent, signalled by pid and start time together.

Nothing outside this set is ever signalled. Standard library only: part of the keeper.
"""

import os
import signal

from perftui.trainer.telemetry.processes import (
    descendants,
    ignores,
    is_alive,
    is_tagged,
    process_stat,
    start_ticks,
    tagged_pids,
)


class Family:
    """All living processes of a run, also ones that outlived their parent or cleaned their environment.

    Args:
        run_id: of the run, which is its processes' tag.
        root: pid of its command.
        root_ticks: when that started; None: not known, and its tag alone tells that it is ours.
    """

    def __init__(self, run_id: str, root: int, root_ticks: int | None) -> None:
        self._run_id = run_id
        self._recorded: dict[int, int] = {} if root_ticks is None else {root: root_ticks}

    def record(self) -> None:
        """Note the descendants of now, so that one which is orphaned later is still known."""
        self._recorded = {pid: ticks for pid, ticks in self._recorded.items() if is_alive(pid, ticks)}
        self._recorded.update(descendants(*self._recorded))

    def alive(self) -> dict[int, int]:
        """Return pid → start ticks of every member that has not ended, the keeper itself never."""
        found = tagged_pids(self._run_id)
        found.update({pid: ticks for pid, ticks in self._recorded.items() if is_alive(pid, ticks)})
        found.pop(os.getpid(), None)
        return found

    def owns(self, pid: int, ticks: int) -> bool:
        """Whether that very process is alive and belongs to the run."""
        return is_alive(pid, ticks) and (is_tagged(pid, self._run_id) or self._recorded.get(pid) == ticks)

    def group(self, group: int) -> dict[int, int]:
        """Return the living members that are in a process group."""
        return {pid: ticks for pid, ticks in self.alive().items() if _group_of(pid) == group}


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:  # it has ended
        return None


def hears(members: dict[int, int], number: signal.Signals) -> list[tuple[int, int]]:
    """Return those that do not ignore a signal."""
    return [(pid, ticks) for pid, ticks in members.items() if not ignores(pid, number)]


def kill_all(family: Family) -> list[int]:
    """SIGKILL every living process of the run; return the pids that were still there."""
    left = family.alive()
    for pid, ticks in left.items():
        send_signal(pid, ticks, signal.SIGKILL)
    return sorted(left)


def ask_to_end(pid: int, ticks: int) -> bool:
    """Send SIGTERM, and wake a process that stands still: it could not take notice before."""
    stat = process_stat(pid)
    sent = send_signal(pid, ticks, signal.SIGTERM)
    if sent and stat is not None and stat.stopped:
        send_signal(pid, ticks, signal.SIGCONT)
    return sent


def send_signal(pid: int, ticks: int, number: signal.Signals) -> bool:
    """Signal the very process that started at `ticks`; False when it is gone or not ours to signal."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except (AttributeError, OSError):  # a kernel before 5.3, or a sandbox: the check narrows the race
        return _send_by_pid(pid, ticks, number)
    try:
        if start_ticks(pid) != ticks:
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _send_by_pid(pid: int, ticks: int, number: signal.Signals) -> bool:
    if start_ticks(pid) != ticks:
        return False
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True
