"""What a relaunch that is under way leaves on disk, so that the next start can say what became of it.

One file for each in the state folder, from before the run is stopped until the ledger has its line. Killed
in between, the process that measured leaves it behind.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from perftui.ipc.pid_space import pids_mean_processes
from perftui.ipc.places import state_root
from perftui.ipc.run_files import read_record, write_record
from perftui.ipc.settings import SettingValue
from perftui.ipc.view import RelaunchView
from perftui.trainer.telemetry.processes import is_alive, start_ticks
from perftui.trainer.tuning.plan import RelaunchPlan

_FOLDER = "relaunches"
_SUFFIX = ".json"


class Underway(msgspec.Struct, frozen=True, kw_only=True):
    """A relaunch that was begun."""

    pid: int
    """Of the process that measures."""
    start_ticks: int
    plan: RelaunchPlan
    name: str
    command: list[str]
    host: str
    pid_space: str | None = None
    """Where `pid` means that process (`ipc.pid_space`)."""
    before: dict[str, SettingValue]
    began_unix: float
    view: RelaunchView
    """As it was last written: at each change but the progress within a launch."""
    stopped: bool = False
    """Whether the run that went on was stopped for it."""


class Journal:
    """The file of one relaunch; what cannot be written is no reason to end it."""

    def __init__(self, relaunch_id: str) -> None:
        self._path = _folder() / f"{relaunch_id}{_SUFFIX}"

    def write(self, underway: Underway) -> None:
        """Write how it stands."""
        with suppress(OSError):
            write_record(self._path, underway)

    def close(self) -> None:
        """The ledger has its line: nothing is under way any more."""
        self._path.unlink(missing_ok=True)


def _folder() -> Path:
    folder = state_root() / _FOLDER
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def own_process() -> tuple[int, int]:
    """Return pid and start ticks of this process."""
    return os.getpid(), start_ticks(os.getpid()) or 0


def still_under_way() -> list[Underway]:
    """Return the relaunches whose process lives."""
    return [each for _, each in _entries() if is_alive(each.pid, each.start_ticks)]


def is_noted(run_id: str) -> bool:
    """Whether a relaunch of this run has left its file: its process lives, or was killed."""
    return any(each.plan.run_id == run_id for _, each in _entries())


def take_broken_off(wanted: Callable[[Underway], bool]) -> list[Underway]:
    """Return those of the wanted relaunches whose process was killed; each goes to one caller only."""
    taken: list[Underway] = []
    for path, each in _entries():
        if is_alive(each.pid, each.start_ticks) or not wanted(each):
            continue
        claimed = path.with_name(f".{path.name}.{os.getpid()}")
        with suppress(FileNotFoundError):  # another start was quicker
            path.rename(claimed)
            claimed.unlink()
            taken.append(each)
    return taken


def _entries() -> Iterator[tuple[Path, Underway]]:
    """Yield those whose process can be looked up: of a shared home, pids mean nothing elsewhere."""
    for path in sorted(_folder().glob(f"*{_SUFFIX}")):
        each = read_record(path, Underway)
        if each is not None and pids_mean_processes(each.host, each.pid_space):
            yield path, each
