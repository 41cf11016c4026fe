"""Whether a run's keeper lives: apart from what starts it, which a dashboard should not have to load."""

from perftui.ipc.run_files import RunDescription
from perftui.trainer.telemetry.processes import is_alive


def keeper_is_alive(description: RunDescription) -> bool:
    """Whether the keeper that wrote its pid into `run.json` lives; False before it has."""
    pid, ticks = description.keeper_pid, description.keeper_start_ticks
    return pid is not None and ticks is not None and is_alive(pid, ticks)
