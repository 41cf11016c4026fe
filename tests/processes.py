"""Which processes of a test's runs are there."""

from pathlib import Path

from perftui.trainer.telemetry.processes import all_pids, start_ticks


def processes_below(folder: Path) -> dict[int, int]:
    """Return pid and start of all that work below a folder: keepers and hubs do, in their run's."""
    found: dict[int, int] = {}
    for pid in all_pids():
        try:
            works_in = Path(f"/proc/{pid}/cwd").readlink()
        except OSError:  # ended meanwhile, or not ours to read
            continue
        ticks = start_ticks(pid)
        if ticks is not None and folder in works_in.parents:
            found[pid] = ticks
    return found
