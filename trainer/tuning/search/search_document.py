"""`perftui tune --json`: a search as one document, also of one that was broken off. Pure."""

import msgspec

from perftui.ipc.ledger_records import Launch, Verdict, VerdictWord
from perftui.ipc.search_records import Proposal, StopReason
from perftui.ipc.settings import Semantics, SettingValue, semantics_of
from perftui.ipc.settings_as_code import lines_to_write
from perftui.trainer.tuning.search.proposals import Choice
from perftui.trainer.tuning.search.state import Experiment, SearchState
from perftui.trainer.tuning.subject import run_words

TUNE_SCHEMA = 1


class Predicted(msgspec.Struct, frozen=True, kw_only=True):
    """What was thought of a change before it was measured; factors."""

    bound: float | None
    expected: float | None


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The original."""

    set: dict[str, SettingValue]
    step_ms: float | None
    samples_per_s: float | None
    launches: list[Launch]


class TrialLine(msgspec.Struct, frozen=True, kw_only=True):
    """One change that was measured."""

    set: dict[str, SettingValue]
    before: dict[str, SettingValue]
    finding: str
    semantics: Semantics
    predicted: Predicted
    launches: list[Launch]
    verdict: VerdictWord
    gain: float | None
    lo: float | None
    hi: float | None
    sentence: str
    kept: bool
    step_ms: float | None
    """With the change."""
    loss: str | None


class NotTried(msgspec.Struct, frozen=True, kw_only=True):
    """One change that was not measured, and why."""

    set: dict[str, SettingValue]
    finding: str
    semantics: Semantics
    predicted: Predicted
    reason: str


class Final(msgspec.Struct, frozen=True, kw_only=True):
    """The result: what it has over the original, and the two compared by launches of their own."""

    set: dict[str, SettingValue]
    semantics: Semantics
    verdict: VerdictWord
    """`unchanged`: nothing was kept; `provisional`: not compared with the original yet."""
    gain: float | None
    lo: float | None
    hi: float | None
    sentence: str
    command: list[str]
    """Runs the result, without a shell."""
    write: list[str]
    """What the script's owner would write instead."""
    launches: list[Launch]


class TuneDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`perftui tune --json`."""

    schema: int = TUNE_SCHEMA
    search_id: str
    name: str
    host: str
    command: list[str]
    allow: Semantics
    reason: StopReason | None
    """Why it stopped."""
    sentence: str
    baseline: Baseline
    trials: list[TrialLine]
    not_tried: list[NotTried]
    final: Final


def search_document(state: SearchState, choice: Choice) -> TuneDocument:
    """Return the document of a search as it stands."""
    plan, ended, baseline = state.plan, state.ended, state.baseline
    return TuneDocument(
        search_id=plan.search_id,
        name=plan.name,
        host=plan.host,
        command=plan.command,
        allow=state.sitting.allow if state.sitting else "neutral",
        reason=ended.reason if ended else None,
        sentence=ended.sentence if ended else "",
        baseline=Baseline(
            set=plan.baseline,
            step_ms=baseline.step_ms if baseline else None,
            samples_per_s=baseline.samples_per_s if baseline else None,
            launches=[each.launch for each in state.first],
        ),
        trials=[_line(trial) for trial in state.trials],
        not_tried=[
            NotTried(
                set=each.set,
                finding=each.code,
                semantics=each.semantics,
                predicted=_predicted(each),
                reason=reason,
            )
            for each, reason in not_tried(state, choice)
        ],
        final=_final(state),
    )


def not_tried(state: SearchState, choice: Choice) -> list[tuple[Proposal, str]]:
    """Return what was not measured, with the reason, in the order in which it would have been."""
    left = "the search stopped before it" if state.ended else "its turn has not come"
    return [
        *((proposal, left) for proposal in choice.worthwhile),
        *((each.proposal, each.reason) for each in choice.aside),
    ]


def _predicted(proposal: Proposal) -> Predicted:
    return Predicted(bound=proposal.bound, expected=proposal.expected)


def _line(trial: Experiment) -> TrialLine:
    verdict = trial.verdict or Verdict(verdict="failed", sentence="not judged")
    changed = trial.launch_of("B")
    return TrialLine(
        set=trial.proposal.set,
        before=trial.before,
        finding=trial.proposal.code,
        semantics=trial.proposal.semantics,
        predicted=_predicted(trial.proposal),
        launches=trial.launches,
        verdict=verdict.verdict,
        gain=verdict.gain,
        lo=verdict.lo,
        hi=verdict.hi,
        sentence=verdict.sentence,
        kept=trial.kept,
        step_ms=changed.step_ms if changed else None,
        loss=verdict.loss,
    )


def _final(state: SearchState) -> Final:
    final = state.final
    verdict = final.verdict if final else None
    if verdict is None:
        word: VerdictWord = "provisional" if state.changed else "unchanged"
        verdict = Verdict(verdict=word, sentence=state.ended.sentence if state.ended else "")
    return Final(
        set=state.changed,
        semantics=semantics_of(state.changed, state.plan.arguments),
        verdict=verdict.verdict,
        gain=verdict.gain,
        lo=verdict.lo,
        hi=verdict.hi,
        sentence=verdict.sentence,
        command=run_words(state.plan.command, state.best, state.plan.arguments),
        write=lines_to_write(state.changed, state.plan.arguments),
        launches=final.launches if final else [],
    )
