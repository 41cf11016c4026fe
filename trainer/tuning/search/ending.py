"""The end of a search in one honest sentence, and its exit code. Pure."""

from collections.abc import Sequence

from perftui.ipc.findings import Finding
from perftui.ipc.ledger_records import Launch, Verdict
from perftui.ipc.search_records import StopReason
from perftui.ipc.settings import Semantics, semantics_of
from perftui.trainer.tuning.search.proposals import NOT_ALLOWED, Choice, change_words
from perftui.trainer.tuning.search.state import NO_WORD, Experiment, SearchState, says_something
from perftui.trainer.tuning.verdict import SE_LIMIT
from perftui.trainer.tuning.wording import fine_percent

EXIT_CODES: dict[StopReason, int] = {
    "nothing_left": 0,
    "most_trials": 0,
    "out_of_time": 0,
    "too_noisy": 4,
    "contended": 4,
    "baseline_failed": 1,
    "interrupted": 130,
}
_RESUME = "--resume goes on"
_SAME_TRAINING: dict[Semantics, str] = {
    "neutral": "the arithmetic is the same",
    "numeric": "the same training with other rounding",
    "changes-training": "another training: speed alone does not say that it is the better one",
}
_LIMITS: dict[StopReason, str] = {
    "most_trials": f"All trials that were allowed are used up: {_RESUME} with a larger --most-trials.",
    "out_of_time": f"The time is over: {_RESUME}.",
    "interrupted": f"Broken off: {_RESUME}.",
}


def exit_code(state: SearchState, reason: StopReason) -> int:
    """Return what the command ends with; a noisy host is a refusal unless something was kept."""
    if reason in ("too_noisy", "contended") and state.changed:
        return 0
    return EXIT_CODES[reason]


def end_sentence(state: SearchState, reason: StopReason, choice: Choice) -> str:
    """Return what came of a search that stops now; `choice`: what it has not tried."""
    forbidden = [each for each in choice.aside if each.reason.startswith(NOT_ALLOWED)]
    listed = ", ".join(change_words(each.proposal.set) for each in forbidden)
    more = f"Not tried, as it was not allowed: {listed}." if forbidden else None
    unsaid = [each for each in state.judged[state.earlier :] if not says_something(each)]
    again = _again(unsaid) if unsaid and reason == "nothing_left" else None
    return " ".join(each for each in (_result(state, reason), more, again, _LIMITS.get(reason)) if each)


def _again(unsaid: Sequence[Experiment]) -> str:
    what = "what was too noisy" if _were_noisy(unsaid) else "what could not be compared"
    return f"--resume measures again {what}."


def _were_noisy(done: Sequence[Experiment]) -> bool:
    return all(each.verdict is None or each.verdict.verdict in NO_WORD for each in done)


def _result(state: SearchState, reason: StopReason) -> str:
    if reason == "baseline_failed":
        note = state.first[-1].launch.note if state.first else None
        return f"The training could not be measured as it is: {note or 'no reason is known'}."
    final = state.final
    if final is not None and final.verdict is not None:
        return _compared(state, final.verdict)
    lost = state.judged[-1] if state.judged else None
    if lost is not None and lost.purpose == "final" and lost.verdict is not None:
        return (
            f"Nothing is worth changing: the trials kept {change_words(lost.proposal.set)}, but the original "
            f"against the result by launches of their own came out slower ({lost.verdict.sentence})."
        )
    if state.changed:
        return (
            f"Kept so far: {change_words(state.changed)}. It has not been compared with the original by "
            "launches of their own yet."
        )
    if reason in ("too_noisy", "contended"):
        return _refused(state, reason)
    return _nothing(state) if reason == "nothing_left" else _nothing_yet(state)


def _nothing_yet(state: SearchState) -> str:
    if state.baseline is None:
        return "Nothing has been measured yet."
    if not state.trials:
        return "The training has been measured as it is, and no change yet."
    return f"Nothing has proved faster so far ({_tried(state)})."


def _tried(state: SearchState) -> str:
    return "; ".join(
        f"{change_words(each.proposal.set)}: {each.verdict.verdict.replace('_', ' ')}"
        for each in state.trials
        if each.verdict is not None
    )


def _compared(state: SearchState, verdict: Verdict) -> str:
    change = change_words(state.changed)
    if verdict.verdict == "faster":
        meaning = _SAME_TRAINING[semantics_of(state.changed, state.plan.arguments)]
        return f"{change}: {verdict.sentence}; {meaning}."
    return (
        f"The trials kept {change}, and the original against the result by launches of their own does not "
        f"confirm it: {verdict.sentence}."
    )


def _refused(state: SearchState, reason: StopReason) -> str:
    launches = [each.launch for each in state.first]
    launches += [launch for each in state.of_this_sitting for launch in each.launches]
    known = [launch.se for launch in launches if launch.se is not None]
    what = "its step time was still changing" if not known else ""
    if known:
        known_to, limit = fine_percent(max(known), signed=False), fine_percent(SE_LIMIT, signed=False)
        what = f"step times are known to {known_to} only, and {limit} is the limit"
        if max(known) <= SE_LIMIT:
            what = (
                "the step time was still changing at the end of a launch, or launches of one setting differ"
            )
    if reason == "contended":
        cores = max((launch.foreign_cores or 0.0 for launch in launches), default=0.0)
        return (
            f"No verdict is possible on this host now: other work keeps {cores:.1f} cores busy; {what}. Stop "
            f"the other work, or wait until it is over: {_RESUME}."
        )
    return f"Too noisy for a verdict: {what}; nothing was decided on such ground."


def _nothing(state: SearchState) -> str:
    picture = state.picture
    leading = _leading(picture.findings) if picture else None
    tried = [each for each in state.trials if says_something(each)]
    if tried:
        return f"Nothing is worth changing: nothing that was tried proved faster ({_tried(state)})."
    if state.trials:
        if _were_noisy(state.trials):
            return "Nothing was decided: the launches were too noisy for a verdict on what was tried."
        return f"Nothing was decided: what was tried could not be compared ({_tried(state)})."
    if leading is None:
        return "Nothing is worth changing: no cause of slowness is seen that a setting could mend."
    advice = leading.remedy.advice if leading.remedy else None
    if leading.severity == "info":
        return f"Nothing is worth changing. {leading.sentence}"
    what = f" What helps: {advice}." if advice else ""
    return f"No setting that may be tried mends what leads ({leading.code}): {leading.sentence}{what}"


def _leading(findings: list[Finding]) -> Finding | None:
    return next((each for each in findings if not each.code.startswith("self.")), None)


def baseline_words(launch: Launch) -> str:
    """Return the baseline in words: `104 ms a step, 154 samples/s`."""
    if launch.step_ms is None:
        return launch.note or "not measured"
    rate = "" if launch.samples_per_s is None else f", {launch.samples_per_s:,.0f} samples/s"
    return f"{launch.step_ms:.3g} ms a step{rate}"
