"""Removes the folders of runs that ended long ago, so that they stay within a bound: hubs do it at their end.

A run's folder holds up to 64 MiB of recording, 64 MiB of output, and the traces of its newest windows. The
oldest go first. What lives or is about to, what may live on another host or in another container, and what
the ledger stands on stays.
"""

import os
import shutil
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from perftui.ipc.errors import UsageError
from perftui.ipc.places import RUN_ID, RunPlaces, run_places, state_root
from perftui.ipc.run_files import RunDescription, read_record, write_record
from perftui.trainer.launch.runs import has_hub, run_line

RUNS_VARIABLE, GB_VARIABLE = "PERFTUI_KEEP_RUNS", "PERFTUI_KEEP_GB"
_ALL = "all"
_YOUNG_S = 600.0
"""A folder that was made so recently may belong to a run that is about to start; a live hub records each
second."""
_NOTE = "pruned.json"
_GOING = ".removed-"


@dataclass(frozen=True)
class Keep:
    """How much stays."""

    runs: int | None = 100
    """None: any number."""
    size_bytes: int | None = 5 * 10**9


class EndedRun(msgspec.Struct, frozen=True):
    """A run that may be removed."""

    run_id: str
    started_unix: float
    size_bytes: int


class Pruned(msgspec.Struct, frozen=True):
    """`pruned.json`: what was removed so far, and whether the user has been told once."""

    runs: int = 0
    size_bytes: int = 0
    told: bool = False


def keep_of(environment: Mapping[str, str]) -> Keep:
    """Return how much is to be kept.

    Raises:
        UsageError: a variable says something else than a number or `all`.
    """
    runs = _number(environment, RUNS_VARIABLE)
    gb = _number(environment, GB_VARIABLE)
    return Keep(
        Keep.runs if runs is _unsaid else (None if runs is None else int(runs)),
        Keep.size_bytes if gb is _unsaid else (None if gb is None else int(gb * 1e9)),
    )


_unsaid = -1.0


def _number(environment: Mapping[str, str], name: str) -> float | None:
    text = environment.get(name, "")
    if not text:
        return _unsaid
    if text == _ALL:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise UsageError(f"{name}={text}: expected a number of at least 0, or {_ALL}")
    return value


def beyond(ended: Sequence[EndedRun], keep: Keep) -> list[EndedRun]:
    """Return the runs that are too many or too much, oldest first. Pure."""
    kept_runs = kept_bytes = 0
    gone: list[EndedRun] = []
    for run in sorted(ended, key=lambda each: each.started_unix, reverse=True):
        fits = (keep.runs is None or kept_runs < keep.runs) and (
            keep.size_bytes is None or kept_bytes + run.size_bytes <= keep.size_bytes
        )
        if gone or not fits:  # never an older one instead of a newer one
            gone.append(run)
            continue
        kept_runs += 1
        kept_bytes += run.size_bytes
    return gone[::-1]


def prune(keep: Keep, evidence: Callable[[], set[str]]) -> list[EndedRun]:
    """Remove what is beyond the bound and return it.

    Args:
        keep: the bound.
        evidence: returns the runs that the ledger stands on; asked only when something is to be removed.

    Raises:
        PerftuiError: the ledger cannot be read: then nothing is removed.
        OSError: the folder cannot be read.
    """
    folder = state_root() / "runs"
    _finish_removals(folder)
    ended = _ended(folder)
    if not beyond(ended, keep):
        return []
    stays = evidence()
    gone = beyond([run for run in ended if run.run_id not in stays], keep)
    for run in gone:
        _remove(folder, run.run_id)
    if gone:
        _note(gone)
    return gone


def _ended(folder: Path) -> list[EndedRun]:
    """Return the runs of this host that nobody needs any more, those of the ledger among them."""
    here, now = socket.gethostname(), time.time()
    found: list[EndedRun] = []
    parents: set[str] = set()
    for entry in os.scandir(folder):
        if not RUN_ID.fullmatch(entry.name) or not entry.is_dir(follow_symlinks=False):
            continue
        places = run_places(entry.name)
        description = read_record(places.description, RunDescription)
        line = run_line(places)
        if description is None or line is None or description.host != here:
            continue
        may_run = line.running or line.elsewhere or has_hub(entry.name)
        if may_run or _is_young(places, now):
            parents.add(description.parent or "")
            continue
        found.append(EndedRun(entry.name, description.started_unix, _size(places.state)))
    return [run for run in found if run.run_id not in parents]


def _is_young(places: RunPlaces, now: float) -> bool:
    """Whether a run was made lately; or, as long as no end of it is written, has left anything lately.

    Its hub may not be seen from here: it has another PERFTUI_RUNTIME_DIR, or a /tmp of its own.
    """
    written = [places.state]
    if not (places.exit_record.exists() or places.summary.exists()):
        written += [places.recording, *places.recording.glob("*.rec"), places.console]
    for path in written:
        with suppress(OSError):  # not there, or gone meanwhile
            if abs(now - path.stat().st_mtime) < _YOUNG_S:
                return True
    return False


def _size(folder: Path) -> int:
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += (Path(root) / name).lstat().st_size
    return total


def _remove(folder: Path, run_id: str) -> None:
    """Remove a run; killed in between, what is left of it bears a name that is no run's."""
    going = folder / f"{_GOING}{run_id}"
    with suppress(OSError):  # another hub was quicker
        (folder / run_id).rename(going)
    shutil.rmtree(going, ignore_errors=True)


def _finish_removals(folder: Path) -> None:
    for left in folder.glob(f"{_GOING}*"):
        shutil.rmtree(left, ignore_errors=True)


def _note(gone: Sequence[EndedRun]) -> None:
    path = state_root() / _NOTE
    before = read_record(path, Pruned) or Pruned()
    with suppress(OSError):
        write_record(
            path,
            msgspec.structs.replace(
                before,
                runs=before.runs + len(gone),
                size_bytes=before.size_bytes + sum(run.size_bytes for run in gone),
            ),
        )


def take_word_of_pruning() -> str | None:
    """Return what the user is to be told, once for all; None when there is nothing, or it has been told."""
    path = state_root() / _NOTE
    note = read_record(path, Pruned)
    if note is None or note.told:
        return None
    with suppress(OSError):
        write_record(path, msgspec.structs.replace(note, told=True))
    what = "1 ended run" if note.runs == 1 else f"{note.runs} ended runs"
    return (
        f"the folders of {what} ({note.size_bytes / 1e6:.0f} MB) were removed, the oldest first, and so it "
        f"goes on; {RUNS_VARIABLE} and {GB_VARIABLE} say how much is kept (a number or {_ALL})"
    )
