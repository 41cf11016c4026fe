"""What a search does next: launch, judge, begin a comparison, or stop with a reason. Pure.

One change at a time against the best so far, by procedure P; what proves faster stays, and what is proposed
next comes from what was seen of it. In the end the original is compared with the result by launches of their
own: gains of single trials, kept because they came out well, are too high on average.
"""

import math
from dataclasses import dataclass, field
from typing import TypeAlias

from perftui.ipc.crowded import CROWDED_SHARE
from perftui.ipc.ledger_records import Launch
from perftui.ipc.search_records import Proposal, Purpose, StopReason
from perftui.ipc.settings import Settings, semantics_of
from perftui.trainer.tuning.judge import is_contended
from perftui.trainer.tuning.next_trial import next_trial
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Label, Noise
from perftui.trainer.tuning.search.calibration import Calibration
from perftui.trainer.tuning.search.proposals import Choice, propose
from perftui.trainer.tuning.search.state import NO_WORD, Experiment, SearchState
from perftui.trainer.tuning.search.visible import is_noisy, smallest_visible

MOST_LAUNCHES = 4
"""Of one comparison."""
MOST_TRIALS = 10
"""Of one search, where nothing else is said."""
FINAL_CODE = "final"
"""Stands for a finding's code where the original is compared with the result."""
_BASELINES_TO_CALM_DOWN = 2
"""A busy host may calm down: so many launches of the original before it is given up."""
_NOISY_COMPARISONS = 2
_LAUNCHES_OF_A_TRIAL = 2


@dataclass(frozen=True)
class Known:
    """What is known beside the search itself."""

    noise: Noise = DEFAULT_NOISE
    cpus: float = 1.0
    elapsed_s: float = 0.0
    """Of this sitting."""
    calibration: Calibration = field(default_factory=dict[str, float])
    """How predictions have come out here."""


@dataclass(frozen=True)
class LaunchMove:
    """Launch these settings and measure them."""

    label: Label
    settings: Settings


@dataclass(frozen=True)
class BeginMove:
    """Begin a comparison."""

    purpose: Purpose
    proposal: Proposal


@dataclass(frozen=True)
class JudgeMove:
    """The open comparison has the launches that it needs."""


@dataclass(frozen=True)
class StopMove:
    """Nothing more is done."""

    reason: StopReason
    choice: Choice = field(default_factory=lambda: Choice((), ()))
    """What was not tried."""


Move: TypeAlias = LaunchMove | BeginMove | JudgeMove | StopMove


def next_move(state: SearchState, known: Known) -> Move:
    """Return what to do next; the same state gives the same move."""
    if state.open is not None:
        return _within(state, state.open, known)
    baseline = state.baseline
    if baseline is None:
        if state.first:
            return StopMove("baseline_failed")
        return _timed(LaunchMove("A", dict(state.best)), state, known)
    reference = _reference(state, baseline)
    refusal = _refusal(state, reference, known)
    if isinstance(refusal, LaunchMove):
        return _timed(refusal, state, known)
    visible = smallest_visible(reference, known.noise)
    choice = propose(state, visible, known.cpus, known.calibration)
    if refusal is not None:
        return _last_word(state, known, refusal, choice)
    if not choice.worthwhile:
        return _last_word(state, known, "nothing_left", choice)
    if state.sitting is not None and len(state.trials) >= state.sitting.most_trials:
        return _last_word(state, known, "most_trials", choice)
    reserve = _LAUNCHES_OF_A_TRIAL if state.changed else 0
    if not _has_time(state, known, _LAUNCHES_OF_A_TRIAL + reserve):
        return _last_word(state, known, "out_of_time", choice)
    return BeginMove("trial", choice.worthwhile[0])


def choice_now(state: SearchState, known: Known) -> Choice:
    """Return what might be tried next and what is set aside, whatever the search is at."""
    baseline = state.baseline
    if baseline is None:
        return Choice((), ())
    visible = smallest_visible(_reference(state, baseline), known.noise)
    return propose(state, visible, known.cpus, known.calibration)


def _within(state: SearchState, opened: Experiment, known: Known) -> Move:
    losses = [each.losses for each in opened.measured]
    semantics, bound = opened.proposal.semantics, opened.proposal.bound
    label = next_trial(opened.launches, losses, semantics, known.noise, known.cpus, MOST_LAUNCHES, bound)
    if label is None:
        return JudgeMove()
    settings = opened.after if label == "B" else opened.before
    return _timed(LaunchMove(label, dict(settings)), state, known)


def _timed(move: LaunchMove, state: SearchState, known: Known) -> Move:
    return move if _has_time(state, known, 1) else StopMove("out_of_time")


def _has_time(state: SearchState, known: Known, launches: int) -> bool:
    """Tell whether so many launches, of the usual length here, end before the time is over."""
    minutes = state.sitting.most_minutes if state.sitting else None
    if minutes is None:
        return True
    usual_s = sum(state.wall_s) / len(state.wall_s) if state.wall_s else 0.0
    return known.elapsed_s + launches * usual_s < 60 * minutes


def _reference(state: SearchState, baseline: Launch) -> Launch:
    """Return a launch of the best configuration that says how precisely things are known here."""
    for trial in reversed(state.judged):
        found = trial.launch_of("B" if trial.kept else "A")
        if found is not None and found.settings == state.best:
            return found
    again = [each.launch for each in state.first if each.launch.log_step_s is not None]
    return again[-1] if again else baseline


def _refusal(state: SearchState, reference: Launch, known: Known) -> LaunchMove | StopReason | None:
    """Say why nothing can be measured here, or that the baseline is to be launched once more."""
    if not state.trials and is_noisy(reference) and is_contended([reference], known.cpus) is not False:
        if len(state.first) < _BASELINES_TO_CALM_DOWN and not _is_crowded(reference, known.cpus):
            return LaunchMove("A", dict(state.best))
        return "contended" if is_contended([reference], known.cpus) else "too_noisy"
    newest = state.of_this_sitting[-_NOISY_COMPARISONS:]
    words = {each.verdict.verdict for each in newest if each.verdict is not None}
    if len(newest) == _NOISY_COMPARISONS and words <= NO_WORD:
        launches = [launch for each in newest for launch in each.launches]
        return "contended" if is_contended(launches, known.cpus) else "too_noisy"
    return None


def _is_crowded(launch: Launch, cpus: float) -> bool:
    """Tell whether others had so much of the host, all through a launch, that no second look is worth it."""
    return launch.foreign_cores is not None and launch.foreign_cores >= CROWDED_SHARE * cpus


def _last_word(state: SearchState, known: Known, reason: StopReason, choice: Choice) -> Move:
    """Compare the original with the result before stopping, where there is a result and time."""
    if not state.changed or state.final is not None:
        return StopMove(reason, choice)
    if not _has_time(state, known, _LAUNCHES_OF_A_TRIAL):
        return StopMove("out_of_time", choice)
    proposal = Proposal(
        set=state.changed,
        code=FINAL_CODE,
        semantics=semantics_of(state.changed, state.plan.arguments),
        expected=_gain_so_far(state),
    )
    return BeginMove("final", proposal)


def _gain_so_far(state: SearchState) -> float:
    """Return what the kept changes brought one by one: how closely the comparison is to be measured."""
    return math.prod(1 + (each.verdict.gain or 0.0) for each in state.trials if each.kept and each.verdict)
