"""Ends trials that nobody watches any more: whoever measured them is gone, and their keeper too.

The kernel asks a trial to end when its keeper is killed, once and by SIGTERM; one that takes no notice, or
whose loader workers and ranks outlive it, would go on for ever. Live runs are never touched.
"""

import shutil
import signal
import time
from contextlib import suppress

from perftui.ipc.places import RUN_ID, run_places, state_root
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record, write_record
from perftui.trainer.launch.family import Family, kill_all
from perftui.trainer.launch.keeper_alive import is_elsewhere, keeper_is_alive
from perftui.trainer.launch.start import console_lines

_GONE_WITHIN_S = 10.0
_POLL_S = 0.1


def is_orphaned(description: RunDescription) -> bool:
    """Whether a run is a trial that can be seen from here, and its keeper gone without recording an end."""
    if not description.trial or not description.owned or description.keeper_pid is None:
        return False
    if is_elsewhere(description):  # the state folder may be shared
        return False
    places = run_places(description.run_id)
    return not keeper_is_alive(description) and read_record(places.exit_record, ExitRecord) is None


def family_of(description: RunDescription) -> Family:
    """Return the processes of a run, by its tag and by descent from its command."""
    family = Family(description.run_id, description.training_pid or 0, description.training_start_ticks)
    family.record()
    return family


def end_orphan(description: RunDescription, within_s: float = 0.0) -> list[int]:
    """Kill what is left of an orphaned trial; return the pids that were still there at the end.

    Args:
        description: of the trial.
        within_s: how long to go on; 0 asks once.
    """
    family = family_of(description)
    deadline = time.monotonic() + within_s
    while (left := kill_all(family)) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return left


def end_orphans() -> list[str]:
    """End every orphaned trial of this user; return the ids of those of which something still ran."""
    folder = state_root() / "runs"
    if not folder.is_dir():
        return []
    ended: list[str] = []
    for entry in folder.iterdir():
        if not RUN_ID.fullmatch(entry.name) or (entry / "exit.json").exists():
            continue
        description = read_record(entry / "run.json", RunDescription)
        if description is None or not is_orphaned(description):
            continue
        still_there = family_of(description).alive()
        left = end_orphan(description, _GONE_WITHIN_S)
        _close(description.run_id, left)
        ended += [description.run_id] if still_there else []
    return ended


def _close(run_id: str, survivors: list[int]) -> None:
    """Write the record of an end that its keeper could not write."""
    places = run_places(run_id)
    record = ExitRecord(
        exit_code=-int(signal.SIGKILL),
        ended_unix=time.time(),
        stopped_by="parent",
        outcome="lost",
        last_lines=console_lines(places),
        survivors=survivors,
    )
    with suppress(OSError):
        write_record(places.exit_record, record)


def clear_scratch() -> None:
    """Remove what trials saved that have ended and whose measurer could not remove it any more."""
    folder = state_root() / "runs"
    for scratch in folder.glob("*/scratch"):
        if (scratch.parent / "exit.json").exists():
            shutil.rmtree(scratch, ignore_errors=True)
