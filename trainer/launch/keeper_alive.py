"""Whether a run's keeper lives: apart from what starts it, which a dashboard should not have to load."""

from perftui.ipc.pid_space import pids_mean_processes
from perftui.ipc.run_files import RunDescription
from perftui.trainer.telemetry.processes import is_alive


def keeper_is_alive(description: RunDescription) -> bool:
    """Whether the keeper that wrote its pid into `run.json` lives; False before it has, and elsewhere."""
    if is_elsewhere(description):
        return False
    pid, ticks = description.keeper_pid, description.keeper_start_ticks
    return pid is not None and ticks is not None and is_alive(pid, ticks)


def is_elsewhere(description: RunDescription) -> bool:
    """Whether a run is on another host or in another container, so that its processes cannot be seen."""
    return not pids_mean_processes(description.host, description.pid_space)
