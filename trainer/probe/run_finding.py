"""Which run this process belongs to, for the agent: the launcher's, or one that is started here."""

import os
from pathlib import Path

from perftui.ipc.places import RunPlaces
from perftui.ipc.run_variables import RUN_ID, RUN_RUNTIME, RUN_STATE
from perftui.trainer.probe.agent import AgentRun
from perftui.trainer.probe.applied import Applied
from perftui.trainer.probe.start_hub import join_or_start


def find_run(applied: Applied) -> AgentRun:
    """Return the run named by the environment; else start a hub for this job, or join the one that was.

    Raises:
        PerftuiError: the folders cannot be made.
        OSError: the hub cannot be started.
    """
    run_id = os.environ.get(RUN_ID)
    runtime = os.environ.get(RUN_RUNTIME)
    state = os.environ.get(RUN_STATE)
    if run_id and runtime and state:
        places = RunPlaces(run_id, Path(runtime), Path(state))
    else:
        places = join_or_start()
    return AgentRun(
        run_id=places.run_id,
        rank_socket=places.rank_socket,
        settings=applied.settings,
        trial=applied.trial,
        profiles=str(places.profiles),
        take_written=_take_written if applied.trial else list,
    )


def _take_written() -> list[str]:
    from perftui.trainer.probe import trial  # only trials need it

    return trial.take_written()
