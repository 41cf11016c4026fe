"""Looks at every loader worker every other second: CPU, state, memory, faults, reads, threads.

Five to seven small files and a system call a worker; its threads are looked at one by one, within a budget,
in turns. What a worker shares with nobody makes the kernel walk its page table (tens of milliseconds for
gigabytes): that is read of one worker a rank, and as rarely as keeps it within its share of a core.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from perftui.ipc.host_view import WorkerView
from perftui.trainer.telemetry.pace import Pace
from perftui.trainer.telemetry.proc_files import read_line, why_unreadable
from perftui.trainer.telemetry.process_io import IoTable, why_no_io
from perftui.trainer.telemetry.process_table import ProcessKey, ProcessReading, ProcessTable
from perftui.trainer.telemetry.worker_kin import Kin
from perftui.trainer.telemetry.worker_looks import (
    Look,
    asleep_in,
    gone,
    read_memory_pages,
    read_private_mib,
    read_waited_ns,
    view_of,
    waits_for_lock,
    waits_for_socket,
)

_STATES_KEPT = 10
THREADS_A_SWEEP = 320
_PRIVATE_S = 4.0
_PRIVATE_SHARE = 0.002
"""Of a core."""
_IN_TURNS = "too many threads to look at each time"
_ONE_A_RANK = "read of one worker a rank"
_UNTOLD = "the kernel does not tell where it sleeps"


class WorkerSampler:
    """Keeps what is needed to turn counters into rates, by worker; used by one thread.

    Args:
        root: where /proc is looked for.
        affinity_of: the CPUs that a process may use; None when that is not known.
        accounts_io_wait: whether the kernel accounts for time spent waiting for block devices.
    """

    def __init__(
        self, root: Path, affinity_of: Callable[[int], frozenset[int] | None], *, accounts_io_wait: bool
    ) -> None:
        self._proc = root / "proc"
        self._affinity_of = affinity_of
        self._accounts_io_wait = accounts_io_wait
        self._looks: dict[ProcessKey, Look] = {}
        self._kin: dict[ProcessKey, Kin] = {}
        self._states: dict[ProcessKey, deque[str]] = {}
        self._private: dict[ProcessKey, float | None] = {}
        self._private_pace = Pace(_PRIVATE_S, _PRIVATE_SHARE)
        self._turn = 0

    def note_states(self, table: ProcessTable) -> None:
        """Count what the known workers are doing; cheap, and meant to be called more often than `sweep`."""
        for key, states in self._states.items():
            reading = table.get(key)
            if reading is not None and not reading.ended:
                states.append(reading.state)

    def sweep(
        self, table: ProcessTable, found: Mapping[ProcessKey, Kin], io: IoTable, now_s: float
    ) -> list[WorkerView]:
        """Look at every worker; those of the last sweep that have ended are in it once more, as gone.

        Args:
            table: all processes of the run; `note_states` has seen it already.
            found: the workers among them.
            io: what each process has read so far, as far as that is known.
            now_s: when the table was read, in seconds since boot.
        """
        living = {**self._orphans(table, found), **found}
        ordered = sorted(living, key=lambda key: (living[key].rank, key[1], key[0]))
        running = self._threads_running([table[key] for key in ordered])
        self._look_at_private({living[key].rank: key for key in reversed(ordered)}, now_s)
        looks: dict[ProcessKey, Look] = {}
        views: list[WorkerView] = []
        for key in ordered:
            states = self._states.setdefault(key, deque((table[key].state,), maxlen=_STATES_KEPT))
            looks[key] = look = self._look(table[key], io, running, tuple(states), now_s)
            reasons = self._reasons(look)
            views.append(
                view_of(
                    look,
                    self._looks.get(key),
                    living[key],
                    reasons,
                    accounts_io_wait=self._accounts_io_wait,
                )
            )
        views += [gone(key, kin) for key, kin in self._kin.items() if key not in living]
        self._kin, self._looks = living, looks
        self._states = {key: self._states[key] for key in ordered}
        return views

    def _look_at_private(self, first: Mapping[int, ProcessKey], now_s: float) -> None:
        """Read what the first worker of each rank shares with nobody, where it is time; else keep it."""
        if self._private_pace.due(now_s):
            began_s = time.thread_time()
            self._private = {key: read_private_mib(self._proc, key[0]) for key in first.values()}
            self._private_pace.took(time.thread_time() - began_s)
        self._private = {key: self._private.get(key) for key in first.values()}

    def _orphans(self, table: ProcessTable, found: Mapping[ProcessKey, Kin]) -> dict[ProcessKey, Kin]:
        """Return known workers that live and are nobody's any more: their rank has just died."""
        pids = {pid for pid, _ in table}
        return {
            key: kin
            for key, kin in self._kin.items()
            if key not in found
            and (reading := table.get(key)) is not None
            and not reading.ended
            and reading.parent not in pids
        }

    def _look(
        self,
        reading: ProcessReading,
        io: IoTable,
        running: Mapping[ProcessKey, int],
        states: tuple[str, ...],
        now_s: float,
    ) -> Look:
        affinity = self._affinity_of(reading.pid)
        place = asleep_in(self._proc, reading.pid, reading.state)
        return Look(
            at_s=now_s,
            reading=reading,
            io=io.get(reading.key),
            waited_ns=read_waited_ns(self._proc, reading.pid),
            memory_pages=read_memory_pages(self._proc, reading.pid),
            cores=len(affinity) if affinity else None,
            threads_running=running.get(reading.key),
            states=states,
            waits_for_socket=waits_for_socket(place),
            waits_for_lock=waits_for_lock(self._proc, reading.pid, place),
            private_mib=self._private.get(reading.key),
        )

    def _reasons(self, look: Look) -> dict[str, str]:
        pid, reasons = look.reading.pid, dict[str, str]()
        if look.io is None:
            reasons["read_mib_s"] = reasons["storage_read_mib_s"] = why_no_io(self._proc, pid)
        if look.waited_ns is None:
            reasons["cpu_wait_share"] = _why(self._proc, pid, "schedstat")
        if look.memory_pages is None:
            reasons["rss_mib"] = reasons["shared_mib"] = _why(self._proc, pid, "statm")
        if look.waits_for_socket is None:
            reasons["waits_for_socket"] = _UNTOLD
        if look.waits_for_lock is None:
            reasons["waits_for_lock"] = (
                _UNTOLD if look.waits_for_socket is None else _why(self._proc, pid, "syscall")
            )
        if look.private_mib is None:
            first = look.reading.key in self._private
            reasons["private_mib"] = _why(self._proc, pid, "smaps_rollup") if first else _ONE_A_RANK
        if look.cores is None:
            reasons["cores"] = "the affinity mask cannot be read"
        if look.threads_running is None:
            reasons["threads_running"] = _IN_TURNS
        return reasons

    def _threads_running(self, workers: Sequence[ProcessReading]) -> dict[ProcessKey, int]:
        """Count running threads of as many workers as the budget of one sweep allows, in turns."""
        found = {each.key: int(each.state == "R") for each in workers if each.threads == 1}
        several = [each for each in workers if 1 < each.threads <= THREADS_A_SWEEP]
        left = THREADS_A_SWEEP
        for step in range(len(several)):
            at = (self._turn + step) % len(several)
            reading = several[at]
            if reading.threads > left:
                self._turn = at
                break
            left -= reading.threads
            found[reading.key] = self._count_running(reading.pid)
        return found

    def _count_running(self, pid: int) -> int:
        tasks = f"{self._proc}/{pid}/task"
        try:
            with os.scandir(tasks) as entries:
                threads = [entry.name for entry in entries]
        except OSError:  # it has ended meanwhile
            return 0
        return sum(
            line[line.rfind(b")") + 2 :].startswith(b"R")
            for line in (read_line(f"{tasks}/{thread}/stat") for thread in threads)
        )


def _why(proc: Path, pid: int, name: str) -> str:
    return f"/proc/{pid}/{name}: {why_unreadable(f'{proc}/{pid}/{name}') or 'not understood'}"
