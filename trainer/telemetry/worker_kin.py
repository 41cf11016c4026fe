"""Which of a run's processes are loader workers, and whose. Pure.

Three ways, in order of trust. A rank tells its training loader's workers, by pid and start time. From torch
2.5 on a worker names its process `pt_data_worker`. Older ones leave no mark: there a worker is a child that
multiprocessing started, by fork (its command line is the rank's), by spawn (the command line says so) or by a
fork server (parent and child have the server's command line); other children of multiprocessing look the
same. Whose an untold worker is follows from ancestry, since with a fork server it is the rank's grandchild.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from perftui.ipc.host_view import FoundBy
from perftui.trainer.telemetry.process_table import ProcessKey, ProcessReading, ProcessTable

WORKER_NAME = "pt_data_worker"
_NAMING_SINCE = (2, 5)
_SPAWNED = b"--multiprocessing-fork"
_SERVER = b"multiprocessing.forkserver"
_DEEPEST = 64


@dataclass(frozen=True)
class RankProcess:
    """A rank on this host, as its hello and its loader tell."""

    rank: int
    pid: int
    start_ticks: int
    names_workers: bool | None = None
    """Whether its torch names loader workers; None: not known."""
    told: tuple[ProcessKey, ...] = ()
    """Pid and start ticks of its workers in the order of their numbers, if it tells."""
    has_workers: bool | None = None
    """Whether its training loader has workers; None: not known."""


@dataclass(frozen=True)
class Kin:
    """A worker's place."""

    rank: int
    found_by: FoundBy
    number: int | None = None


def names_workers(torch_version: str) -> bool | None:
    """Return whether this torch names its loader workers' processes; None when the version is not one."""
    parts = torch_version.split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        return None
    return (int(parts[0]), int(parts[1])) >= _NAMING_SINCE


def find_workers(
    table: ProcessTable,
    ranks: Mapping[int, RankProcess],
    command_of: Callable[[ProcessReading], bytes | None],
) -> dict[ProcessKey, Kin]:
    """Return the living workers of these ranks.

    Args:
        table: all processes of the run.
        ranks: the ranks on this host by pid.
        command_of: the command line of a process, entries separated by NUL; None while it is too young to
            have one of its own.
    """
    by_pid = {reading.pid: reading for reading in table.values()}
    found = _told(table, ranks)
    for reading in table.values():
        if reading.ended or reading.pid in ranks or reading.key in found:
            continue
        line = _line_to_rank(reading, by_pid, ranks)
        if line is not None:
            kin = _kin(reading, line, ranks[line[-1].pid], command_of)
            if kin is not None:
                found[reading.key] = kin
    return found


def _told(table: ProcessTable, ranks: Mapping[int, RankProcess]) -> dict[ProcessKey, Kin]:
    """Return the workers that ranks tell, as far as they live; a pid that was given away is none."""
    return {
        key: Kin(rank.rank, "told", number)
        for rank in ranks.values()
        for number, key in enumerate(rank.told)
        if key in table and not table[key].ended
    }


def _line_to_rank(
    reading: ProcessReading, by_pid: Mapping[int, ProcessReading], ranks: Mapping[int, RankProcess]
) -> list[ProcessReading] | None:
    """Return the ancestors from the parent up to the nearest rank; None when no rank is among them."""
    line: list[ProcessReading] = []
    parent = by_pid.get(reading.parent)
    while parent is not None and len(line) < _DEEPEST:
        line.append(parent)
        rank = ranks.get(parent.pid)
        if rank is not None:
            return line if rank.start_ticks == parent.start_ticks else None
        parent = by_pid.get(parent.parent)
    return None


def _kin(
    reading: ProcessReading,
    line: list[ProcessReading],
    rank: RankProcess,
    command_of: Callable[[ProcessReading], bytes | None],
) -> Kin | None:
    if reading.name == WORKER_NAME:
        # a process that a worker starts bears the worker's name until it has one of its own
        return None if any(each.name == WORKER_NAME for each in line) else Kin(rank.rank, "name")
    if rank.told or rank.names_workers or rank.has_workers is False:
        return None
    return Kin(rank.rank, "kin") if _is_multiprocessing_child(reading, line, command_of) else None


def _is_multiprocessing_child(
    reading: ProcessReading, line: list[ProcessReading], command_of: Callable[[ProcessReading], bytes | None]
) -> bool:
    own, parents = command_of(reading), command_of(line[0])
    if own is None or parents is None:
        return False
    if len(line) == 1:
        return own == parents or _SPAWNED in own.split(b"\0")
    return len(line) == 2 and own == parents and _SERVER in own
