"""Which run this process belongs to, for the agent: the launcher's, or one that is started here."""

import os
from pathlib import Path

from perftui.trainer.probe import trial
from perftui.trainer.probe.agent import AgentRun
from perftui.trainer.probe.applied import Applied
from perftui.trainer.probe.start_hub import join_or_start


def find_run(applied: Applied) -> AgentRun:
    """Return the run named by the environment; else start a hub for this job, or join the one that was.

    Raises:
        PerftuiError: the folders cannot be made.
        OSError: the hub cannot be started.
    """
    run_id = os.environ.get("PERFTUI_RUN_ID")
    runtime = os.environ.get("PERFTUI_RUN_RUNTIME")
    if run_id and runtime:
        rank_socket = f"ipc://{Path(runtime) / 'ranks.sock'}"
    else:
        places = join_or_start()
        run_id, rank_socket = places.run_id, places.rank_socket
    return AgentRun(
        run_id=run_id,
        rank_socket=rank_socket,
        settings=applied.settings,
        trial=applied.trial,
        take_written=trial.take_written,
    )
