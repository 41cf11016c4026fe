"""One look at a loader worker, and what it says next to the look before. Pure but for some small files."""

import os
from pathlib import Path
from typing import NamedTuple

from perftui.ipc.host_view import WorkerView
from perftui.ipc.units import MIB
from perftui.trainer.telemetry.proc_files import numbers_by_name, read_line, read_whole, whole_numbers
from perftui.trainer.telemetry.process_io import IoReading
from perftui.trainer.telemetry.process_table import ProcessKey, ProcessReading
from perftui.trainer.telemetry.worker_kin import Kin

_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / MIB
_HZ = os.sysconf("SC_CLK_TCK")
_NS = 1e9
_FIRST = "needs two looks"
_RECEIVING = frozenset(
    {
        b"wait_woken", b"sk_wait_data", b"tcp_recvmsg", b"tcp_recvmsg_locked", b"__skb_wait_for_more_packets",
        b"unix_stream_read_generic", b"unix_stream_data_wait", b"inet_wait_for_connect",
        b"inet_stream_connect",
    }
)  # fmt: skip
"""Functions of Linux in which a thread sleeps that receives from a socket, or connects one. A worker that
waits for its next batch is in none of them: it polls a pipe."""
_FILE_LOCKS = (b"lock_inode_wait", b"do_lock_file_wait", b"fcntl_setlk")
"""Parts of names of functions in which a thread waits for a lock on a file (flock, fcntl)."""
_FUTEX = b"futex"
_FUTEX_WAITS = frozenset({0, 6, 9, 11, 13})
_FUTEX_COMMAND, _FUTEX_PRIVATE, _PAGE = 0x7F, 0x80, 0xFFF
"""Private: among the threads of one process. Python's locks between processes are semaphores of a file of
their own in shared memory, at the beginning of a page."""


class Look(NamedTuple):
    """All that was read of one worker at one time."""

    at_s: float
    """Seconds since boot."""
    reading: ProcessReading
    io: IoReading | None
    waited_ns: int | None
    """Time that the main thread was ready and had no core (/proc/PID/schedstat)."""
    memory_pages: tuple[int, int] | None
    """Resident, and shared of these (/proc/PID/statm)."""
    cores: int | None
    threads_running: int | None
    states: tuple[str, ...]
    """Of the main thread at the last looks, this one included."""
    waits_for_socket: bool | None
    waits_for_lock: bool | None
    private_mib: float | None


class _Growth(NamedTuple):
    cpu_share: float
    cpu_wait_share: float | None
    io_wait_share: float
    minor_faults_per_s: float
    major_faults_per_s: float
    read_mib_s: float | None
    storage_read_mib_s: float | None


def read_waited_ns(proc: Path, pid: int) -> int | None:
    """Return the main thread's time in the run queue; None where the kernel does not tell."""
    numbers = whole_numbers(read_line(f"{proc}/{pid}/schedstat").split())
    return numbers[1] if len(numbers) == 3 else None


def read_memory_pages(proc: Path, pid: int) -> tuple[int, int] | None:
    """Return resident pages, and those of them that are of files or shared memory."""
    numbers = whole_numbers(read_line(f"{proc}/{pid}/statm").split())
    return (numbers[1], numbers[2]) if len(numbers) >= 3 else None


def asleep_in(proc: Path, pid: int, state: str) -> bytes | None:
    """Return the function of the kernel in which the main thread sleeps (/proc/PID/wchan).

    Empty where it does not sleep; None where the kernel does not tell.
    """
    if state != "S":
        return b""
    place = read_line(f"{proc}/{pid}/wchan").strip()
    return None if place in (b"", b"0") else place


def waits_for_socket(place: bytes | None) -> bool | None:
    """Tell whether the main thread sleeps until a socket has something for it; None: not known.

    One that receives with a timeout polls, as a worker does that has nothing to do: it is not told.

    Args:
        place: as `asleep_in` gives it.
    """
    return None if place is None else place in _RECEIVING


def waits_for_lock(proc: Path, pid: int, place: bytes | None) -> bool | None:
    """Tell whether the main thread sleeps until another process lets go of a lock; None: not known.

    What threads of one process wait for from one another looks alike in /proc/PID/wchan; /proc/PID/syscall
    tells it apart, which may not be read where only ancestors may look into a process.

    Args:
        proc: where /proc is.
        pid: of the worker.
        place: as `asleep_in` gives it.
    """
    if place is None:
        return None
    if _FUTEX not in place:
        return any(part in place for part in _FILE_LOCKS)
    words = read_line(f"{proc}/{pid}/syscall").split()
    if words == [b"running"]:
        return False
    try:
        address, operation = int(words[1], 16), int(words[2], 16)
    except (IndexError, ValueError):
        return None
    waits = operation & _FUTEX_COMMAND in _FUTEX_WAITS
    return waits and not operation & _FUTEX_PRIVATE and not address & _PAGE


def read_private_mib(proc: Path, pid: int) -> float | None:
    """Return what a process shares with nobody and has written to (/proc/PID/smaps_rollup).

    The kernel walks the process's page table for it, some ten milliseconds for a gigabyte.
    """
    kib = numbers_by_name(read_whole(f"{proc}/{pid}/smaps_rollup")).get(b"Private_Dirty")
    return None if kib is None else kib / 1024


def view_of(
    look: Look, before: Look | None, kin: Kin, reasons: dict[str, str], *, accounts_io_wait: bool
) -> WorkerView:
    """Return what a look shows.

    Args:
        look: the newest.
        before: the one before it of the same process.
        kin: whose worker it is.
        reasons: why figures that this look lacks are lacking.
        accounts_io_wait: whether the kernel accounts for time spent waiting for block devices.
    """
    reading, growth = look.reading, _growth(before, look)
    missing = {**reasons, **({} if growth else dict.fromkeys(_Growth._fields, _FIRST))}
    resident, shared = look.memory_pages or (None, None)
    return WorkerView(
        rank=kin.rank,
        pid=reading.pid,
        start_ticks=reading.start_ticks,
        found_by=kin.found_by,
        number=kin.number,
        state=reading.state,
        alive_s=max(0.0, look.at_s - reading.start_ticks / _HZ),
        cpu_share=growth.cpu_share if growth else None,
        cpu_wait_share=growth.cpu_wait_share if growth else None,
        io_wait_share=growth.io_wait_share if growth and accounts_io_wait else None,
        blocked_share=sum(state == "D" for state in look.states) / len(look.states),
        waits_for_socket=look.waits_for_socket,
        waits_for_lock=look.waits_for_lock,
        rss_mib=None if resident is None else resident * _PAGE_MIB,
        shared_mib=None if shared is None else shared * _PAGE_MIB,
        private_mib=look.private_mib,
        minor_faults_per_s=growth.minor_faults_per_s if growth else None,
        major_faults_per_s=growth.major_faults_per_s if growth else None,
        read_mib_s=growth.read_mib_s if growth else None,
        storage_read_mib_s=growth.storage_read_mib_s if growth else None,
        threads=reading.threads,
        threads_running=look.threads_running,
        cores=look.cores,
        missing=missing,
    )


def gone(key: ProcessKey, kin: Kin) -> WorkerView:
    """Return what is left of a worker that has ended."""
    return WorkerView(
        rank=kin.rank, pid=key[0], start_ticks=key[1], found_by=kin.found_by, number=kin.number, gone=True
    )


def _growth(before: Look | None, look: Look) -> _Growth | None:
    if before is None or look.at_s <= before.at_s:
        return None
    span_s = look.at_s - before.at_s
    new, old = look.reading, before.reading
    waited = read = stored = None
    if look.waited_ns is not None and before.waited_ns is not None:
        waited = min(1.0, (look.waited_ns - before.waited_ns) / _NS / span_s)
    if look.io is not None and before.io is not None:
        since = look.io.less(before.io)
        read, stored = since.called / MIB / span_s, since.from_storage / MIB / span_s
    return _Growth(
        cpu_share=(new.own_ticks - old.own_ticks) / _HZ / span_s,
        cpu_wait_share=waited,
        io_wait_share=min(1.0, (new.io_wait_ticks - old.io_wait_ticks) / _HZ / span_s),
        minor_faults_per_s=(new.minor_faults - old.minor_faults) / span_s,
        major_faults_per_s=(new.major_faults - old.major_faults) / span_s,
        read_mib_s=read,
        storage_read_mib_s=stored,
    )
