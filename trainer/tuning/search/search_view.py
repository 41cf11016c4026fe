"""A search as a screen shows it, made from its state and from what the searching process last told. Pure."""

from perftui.ipc.search_records import SearchPlan
from perftui.ipc.search_view import SearchAside, SearchProgress, SearchTrial, SearchView
from perftui.ipc.settings_as_code import lines_to_write
from perftui.trainer.tuning.search.next_move import MOST_LAUNCHES, MOST_TRIALS
from perftui.trainer.tuning.search.proposals import Choice
from perftui.trainer.tuning.search.search_document import not_tried
from perftui.trainer.tuning.search.state import Experiment, SearchState
from perftui.trainer.tuning.subject import run_words


def search_view(state: SearchState, choice: Choice, progress: SearchProgress | None) -> SearchView:
    """Return a search as it stands.

    Args:
        state: the fold of its entries.
        choice: what might be tried next, and what is set aside.
        progress: what the process tells that searches now; None: none does.
    """
    plan, sitting, ended, baseline = state.plan, state.sitting, state.ended, state.baseline
    goes_on = progress is not None and progress.search_id == plan.search_id
    changed = state.changed
    return SearchView(
        search_id=plan.search_id,
        unix=plan.unix,
        name=plan.name,
        host=plan.host,
        command=plan.command,
        allow=sitting.allow if sitting else "neutral",
        most_trials=sitting.most_trials if sitting else MOST_TRIALS,
        most_launches=MOST_LAUNCHES,
        most_minutes=sitting.most_minutes if sitting else None,
        goes_on=goes_on,
        baseline=[each.launch for each in state.first],
        step_ms=baseline.step_ms if baseline else None,
        samples_per_s=baseline.samples_per_s if baseline else None,
        trials=[_trial(each) for each in state.trials],
        now=_trial(state.open) if state.open is not None else None,
        launch=progress.launch if progress is not None and goes_on else None,
        aside=_aside(state, choice),
        final=_trial(state.final) if state.final is not None else None,
        reason=ended.reason if ended else None,
        sentence=ended.sentence if ended else "",
        changed=changed,
        run=_run(plan, state) if changed else [],
        write=lines_to_write(changed, plan.arguments) if changed else [],
    )


def _run(plan: SearchPlan, state: SearchState) -> list[str]:
    return run_words(plan.command, state.best, plan.arguments)


def _trial(done: Experiment) -> SearchTrial:
    before, after = done.launch_of("A"), done.launch_of("B")
    known = {**(before.effective if before else {}), **done.before}
    proposal = done.proposal
    return SearchTrial(
        comparison_id=done.comparison_id,
        purpose=done.purpose,
        set=proposal.set,
        before={name: known[name] for name in proposal.set if name in known},
        finding=proposal.code,
        semantics=proposal.semantics,
        bound=proposal.bound,
        expected=proposal.expected,
        launches=done.launches,
        verdict=done.verdict,
        kept=done.kept,
        step_ms=after.step_ms if after else None,
    )


def _aside(state: SearchState, choice: Choice) -> list[SearchAside]:
    """Return what was not measured; what is being measured is no part of it."""
    measured = state.open.proposal.set if state.open is not None else None
    waiting = {id(each) for each in choice.worthwhile} if state.ended is None else set[int]()
    return [
        SearchAside(
            set=each.set,
            finding=each.code,
            semantics=each.semantics,
            bound=each.bound,
            expected=each.expected,
            reason=reason,
            waits=id(each) in waiting,
        )
        for each, reason in not_tried(state, choice)
        if each.set != measured
    ]
