"""What a dashboard may ask of any run, live or recorded: a rank's steps, the ledger, a search."""

from perftui.ipc.dashboard_messages import (
    Answer,
    Done,
    LedgerQuery,
    Question,
    RanksQuery,
    SearchQuery,
    StepsQuery,
)
from perftui.ipc.errors import NoSuchRun, PerftuiError
from perftui.ipc.places import ledger_path
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.rank_blocks import rank_map
from perftui.trainer.hub.served import Reply
from perftui.trainer.hub.step_blocks import step_history
from perftui.trainer.hub.step_lanes import with_lanes
from perftui.trainer.tuning.ledger_reading import newest_comparisons

_COMPARISONS_MAX = 200


def answered(question: Question, fold: RunFold, peer: bytes) -> list[Reply]:
    """Return the answer and what was asked for, or why it cannot be had."""
    ident = question.command_id
    try:
        if isinstance(question, LedgerQuery):
            limit = max(0, min(question.limit, _COMPARISONS_MAX))
            done = Done(command_id=ident, ok=True, comparisons=newest_comparisons(ledger_path(), limit))
        elif isinstance(question, RanksQuery):
            done = _ranks(question, fold)
        elif isinstance(question, SearchQuery):
            from perftui.trainer.tuning.search.search_reading import read_search  # few runs are asked for it

            done = Done(command_id=ident, ok=True, search=read_search(question.search))
        else:
            done = _steps(question, fold)
    except (PerftuiError, OSError) as error:
        return [Reply(peer, Answer(command_id=ident, accepted=False, reason=str(error)))]
    return [Reply(peer, Answer(command_id=ident, accepted=True)), Reply(peer, done)]


def _steps(question: StepsQuery, fold: RunFold) -> Done:
    track = fold.ranks.get(question.rank)
    if track is None:
        raise NoSuchRun(f"rank {question.rank}: no such rank in this run")
    first, last = question.first_step, question.last_step
    if question.newest is not None:
        first, last = max(0, len(track.log) - max(1, question.newest)), None
    found = step_history(track.log, question.rank, first, last, question.blocks)
    steps = None if found is None else with_lanes(found, track, fold.readings)
    return Done(command_id=question.command_id, ok=True, steps=steps)


def _ranks(question: RanksQuery, fold: RunFold) -> Done:
    if not any(track.log.raw for track in fold.ranks.values()):
        raise NoSuchRun("no rank has made a step yet")
    first, last = question.first_step, question.last_step
    if question.newest is not None:
        first, last = max(0, fold.steps_done() - max(1, question.newest)), None
    logs = {track.hello.rank: track.log for track in fold.ordered if track.log.raw}
    found = rank_map(logs, first, last, question.blocks, question.bands, question.measure)
    return Done(command_id=question.command_id, ok=True, ranks=found)
