"""Which runs this user has on this host, and which one a word on the command line means."""

import msgspec

from perftui.ipc.errors import NoSuchRun, UsageError
from perftui.ipc.hub_lock import hub_lock_is_held
from perftui.ipc.places import RUN_ID, RunPlaces, run_places, state_root
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record
from perftui.ipc.run_lines import RunLine
from perftui.trainer.launch.keeper_alive import is_elsewhere, keeper_is_alive

_HINT = "start one with: perftui run -- python train.py"


class _State(msgspec.Struct, frozen=True):
    """The two fields of `summary.json` that say how a run ended that no keeper of ours watched."""

    state: str = "lost"
    exit_code: int | None = None


def list_runs() -> list[RunLine]:
    """Return all runs of this user, newest first."""
    folder = state_root() / "runs"
    if not folder.is_dir():
        return []
    ids = [entry.name for entry in folder.iterdir() if RUN_ID.fullmatch(entry.name)]
    found = [line for run_id in ids if (line := run_line(run_places(run_id))) is not None]
    return sorted(found, key=lambda line: line.started, reverse=True)


def running(lines: list[RunLine]) -> list[RunLine]:
    """Return those that run, trials left out."""
    return [line for line in lines if line.running and not line.trial]


def watchable(lines: list[RunLine]) -> list[RunLine]:
    """Return the runs to attach to: those that run, and those whose relaunch is being measured."""
    measured = [
        line
        for line in lines
        if line.stopped_by == "relaunch" and not line.trial and successor_of(line.run_id, lines) is None
    ]
    return running(lines) + [line for line in measured if has_hub(line.run_id)]


def has_hub(run_id: str) -> bool:
    """Whether the hub of a run is alive; it may outlive the training."""
    return hub_lock_is_held(run_places(run_id).hub_lock)


def run_line(places: RunPlaces) -> RunLine | None:
    """Return the line of one run; None when its description is missing."""
    description = read_record(places.description, RunDescription)
    if description is None:
        return None
    state, exit_code, stopped_by = _ending(places, description)
    return RunLine(
        run_id=places.run_id,
        name=description.name,
        pid=description.training_pid if state == "running" else None,
        state=state,
        started=description.started_unix,
        command=description.command,
        exit_code=exit_code,
        stopped_by=stopped_by,
        trial=description.trial,
        parent=description.parent,
        host=description.host,
    )


def _ending(places: RunPlaces, description: RunDescription) -> tuple[str, int | None, str | None]:
    record = read_record(places.exit_record, ExitRecord)
    if record is not None:
        known = {"finished": "finished", "stopped": "stopped", "lost": "lost"}
        return known.get(record.outcome, "failed"), record.exit_code, record.stopped_by
    unseen = "elsewhere" if is_elsewhere(description) else "lost"
    if description.owned:
        return ("running" if keeper_is_alive(description) else unseen), None, None
    if hub_lock_is_held(places.hub_lock):
        return "running", None, None
    ended = read_record(places.summary, _State) or _State(unseen)
    return ended.state, ended.exit_code, None


def find_run(word: str, lines: list[RunLine]) -> RunLine:
    """Return the run that a word means: its id, a unique beginning of an id, or a name.

    Of several by one name a running one is meant, else the newest.

    Raises:
        NoSuchRun: none fits.
        UsageError: several do; the message lists them.
    """
    exact = [line for line in lines if line.run_id == word]
    named = [line for line in lines if line.name == word]
    begun = [line for line in lines if line.run_id.startswith(word)]
    for fits in (exact, running(named), named[:1], running(begun), begun):
        if len(fits) == 1:
            return fits[0]
        if len(fits) > 1:
            ids = ", ".join(line.run_id for line in fits[:6])
            raise UsageError(f"{word!r} fits {len(fits)} runs: {ids}; write more of the id")
    hint = f"or {_HINT}"
    if word.endswith(".py"):
        hint = f"a script is started with: perftui run -- python {word}"
    raise NoSuchRun(f"no run {word!r}; `perftui ls` lists them, {hint}")


def successor_of(run_id: str, lines: list[RunLine]) -> RunLine | None:
    """Return the live run that took the place of another one, if a relaunch started one."""
    return next((line for line in lines if line.parent == run_id and not line.trial), None)


def only_run(lines: list[RunLine]) -> RunLine:
    """Return the run that is meant when none is named: the one that runs.

    Raises:
        NoSuchRun: none runs.
        UsageError: several do.
    """
    live = running(lines)
    if not live:
        ended = "name one that has ended (perftui ls), or " if lines else ""
        raise NoSuchRun(f"no run of yours is alive on this host; {ended}{_HINT}")
    if len(live) > 1:
        ids = ", ".join(line.run_id for line in live[:6])
        raise UsageError(f"{len(live)} runs are alive: {ids}; name one")
    return live[0]
