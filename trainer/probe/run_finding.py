"""Which run this process belongs to, for the agent: the launcher's, or one that is started here."""

from pathlib import Path

from perftui.ipc.places import RunPlaces
from perftui.trainer.probe.agent import AgentRun
from perftui.trainer.probe.applied import Applied
from perftui.trainer.probe.named_run import NamedRun


def find_run(applied: Applied, named: NamedRun | None) -> AgentRun:
    """Return the launcher's run; else start a hub for this job, or join the one that was.

    Raises:
        PerftuiError: the folders cannot be made.
        OSError: the hub cannot be started.
    """
    if named is None:
        from perftui.trainer.probe.start_hub import join_or_start  # brings much of the launcher

        places = join_or_start()
    else:
        places = RunPlaces(named.run_id, Path(named.runtime), Path(named.state))
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
