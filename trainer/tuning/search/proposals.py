"""From what was seen of the best configuration to the changes that are worth a trial, in order.

What answers the leading finding comes first, then what is hoped for most: remedies of the other findings,
neighbours of numbers that were tried, further experiments. What has been measured is never proposed again;
what cannot be applied, is not allowed, or could gain no more than can be measured is set aside with the
reason. Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.errors import PerftuiError
from perftui.ipc.findings import Finding
from perftui.ipc.prerequisites import Told, why_idle, why_impossible
from perftui.ipc.search_records import Picture, Proposal
from perftui.ipc.settings import (
    Semantics,
    Settings,
    SettingValue,
    combined,
    format_value,
    semantics_of,
    setting,
)
from perftui.ipc.settings_table import is_on
from perftui.trainer.tuning.predictor import SMALLEST_GAIN
from perftui.trainer.tuning.search.already import done_by_script
from perftui.trainer.tuning.search.calibration import NO_CALIBRATION, Calibration, calibrated
from perftui.trainer.tuning.search.further import FURTHER, UNTOLD, Further
from perftui.trainer.tuning.search.guards import most_waiting_workers, most_workers, why_too_much
from perftui.trainer.tuning.search.number_ladder import neighbours
from perftui.trainer.tuning.search.state import Configuration, SearchState, says_something
from perftui.trainer.tuning.wording import fine_percent

NOT_ALLOWED = "needs --allow"
_PART_OF_BOUND = 0.5
_WORTH_ANOTHER_TRY = 1.2
"""What brought nothing may bring something once the rest of the step is a fifth faster."""
_STRENGTH: dict[Semantics, int] = {"neutral": 0, "numeric": 1, "changes-training": 2}


@dataclass(frozen=True)
class SetAside:
    """A change that is not tried, and why."""

    proposal: Proposal
    reason: str


@dataclass(frozen=True)
class Choice:
    """What might be tried next."""

    worthwhile: tuple[Proposal, ...]
    """In the order in which to try them."""
    aside: tuple[SetAside, ...]


def propose(
    state: SearchState, visible: float, cpus: float, calibration: Calibration = NO_CALIBRATION
) -> Choice:
    """Return the changes worth a trial on top of the best configuration.

    Args:
        state: of the search.
        visible: smallest speed-up, as a factor, that a comparison would show here.
        cpus: effective cores of the host.
        calibration: how predictions have come out here.
    """
    picture = state.picture
    if picture is None:
        return Choice((), ())
    worthwhile: list[Proposal] = []
    aside: list[SetAside] = []
    seen = _measured(state)
    for raw in _raw(state, picture, most_workers(cpus, picture.ranks), calibration):
        proposal = _fitted(raw, picture, cpus, state.plan.arguments)
        known = _key(state, proposal)
        if known is None or known in seen:
            continue
        seen.add(known)
        reason = _why_not(proposal, state, picture, visible, cpus)
        if reason is None:
            expected = calibrated(proposal.expected, proposal.set, calibration)
            worthwhile.append(msgspec.structs.replace(proposal, expected=expected))
        else:
            aside.append(SetAside(proposal, reason))
    return Choice(tuple(worthwhile), tuple(aside))


def _measured(state: SearchState) -> set[Configuration]:
    """Return every configuration that has been measured, and the original.

    What an earlier sitting came to no word on is as good as never measured.
    """
    counted = [
        each for place, each in enumerate(state.judged) if place >= state.earlier or says_something(each)
    ]
    judged = {state.configuration(side) for each in counted for side in (each.before, each.after)}
    return {state.configuration(state.plan.baseline), state.configuration(state.best), *judged}


def _key(state: SearchState, proposal: Proposal) -> Configuration | None:
    """Return what a proposal leads to; None where it changes nothing, or excludes itself."""
    in_force = state.in_force()
    if not proposal.set or all(
        name in in_force and in_force[name] == value for name, value in proposal.set.items()
    ):
        return None
    try:
        return state.configuration(combined(state.best, proposal.set))
    except PerftuiError:
        return None


def _raw(state: SearchState, picture: Picture, workers: int, calibration: Calibration) -> list[Proposal]:
    """Return all that findings speak for: what answers the leading one first, then the most hoped for."""
    causes = [each for each in picture.findings if each.under is None and not each.code.startswith("self.")]
    lead = causes[0].code if causes else None
    nearby = list(neighbours(state.trials, state.best, state.in_force(), picture, workers))
    found = [proposal for cause in causes for proposal in _own(cause, state.plan.arguments)]
    found += nearby
    found += [proposal for cause in causes for proposal in _further(cause, state, picture)]
    kept_since = _gain_since(state)
    fresh = [each for each in found if _is_news(each, kept_since)]
    return sorted(
        fresh,
        key=lambda each: (each.code != lead, -(calibrated(each.expected, each.set, calibration) or 1.0)),
    )


def _gain_since(state: SearchState) -> dict[frozenset[tuple[str, SettingValue]], float]:
    """Return by what factor the training has become faster since each change was last tried in vain."""
    since: dict[frozenset[tuple[str, SettingValue]], float] = {}
    for trial in state.trials:
        gain = 1 + (trial.verdict.gain or 0.0) if trial.kept and trial.verdict else 1.0
        since = {change: factor * gain for change, factor in since.items()}
        if not trial.kept and says_something(trial):
            since[frozenset(trial.proposal.set.items())] = 1.0
    return since


def _is_news(proposal: Proposal, since: dict[frozenset[tuple[str, SettingValue]], float]) -> bool:
    """Tell whether a change was never tried in vain, or all else has become much faster since."""
    factor = since.get(frozenset(proposal.set.items()))
    return factor is None or factor >= _WORTH_ANOTHER_TRY


def _own(finding: Finding, arguments: dict[str, ArgumentTemplate]) -> Iterator[Proposal]:
    remedy = finding.remedy
    if remedy is None or not remedy.set or not _are_known(remedy.set, arguments):
        return
    yield Proposal(
        set=dict(remedy.set),
        code=finding.code,
        semantics=_stronger(remedy.semantics, semantics_of(remedy.set, arguments)),
        bound=remedy.bound,
        expected=remedy.expected if remedy.expected is not None else _hoped(finding.code, remedy.bound),
    )


def _are_known(change: Settings, arguments: dict[str, ArgumentTemplate]) -> bool:
    try:
        for name in change:
            setting(name, arguments)
    except PerftuiError:
        return False
    return True


def _hoped(code: str, bound: float | None) -> float | None:
    """Return what to expect of a remedy whose finding does not say: half of the share, or a prior."""
    if bound is None or bound < 1:
        return UNTOLD.get(code)
    return round(1 / (1 - _PART_OF_BOUND * (1 - 1 / bound)), 2)


def _further(finding: Finding, state: SearchState, picture: Picture) -> Iterator[Proposal]:
    on_gpu = (picture.device or "").startswith("cuda")
    in_force = state.in_force()
    for each in FURTHER.get(finding.code, ()):
        if (each.gpu_only and not on_gpu) or finding.share > each.most_share:
            continue
        if each.after and not any(in_force.get(name) == value for name, value in each.after.items()):
            continue
        if _slot_is_taken(each, state):
            continue
        yield _experiment(each, finding)


def _slot_is_taken(each: Further, state: SearchState) -> bool:
    """Tell whether something that proved faster would have to make room: a group is one slot."""
    after = combined(state.best, each.set)
    lost = [name for name, value in state.changed.items() if is_on(value) and after.get(name) != value]
    return any(name not in each.replaces for name in lost)


def _experiment(each: Further, finding: Finding) -> Proposal:
    bound, expected = None, each.expected
    if each.share is not None:
        share = min(finding.share, 0.99)
        bound, expected = round(1 / (1 - share), 2), round(1 / (1 - each.share * share), 2)
    return Proposal(
        set=dict(each.set),
        code=finding.code,
        semantics=semantics_of(each.set),
        bound=bound,
        expected=expected,
    )


def _stronger(first: Semantics, second: Semantics) -> Semantics:
    return max(first, second, key=lambda each: _STRENGTH[each])


def _fitted(
    proposal: Proposal, picture: Picture, cpus: float, arguments: dict[str, ArgumentTemplate]
) -> Proposal:
    """Return the proposal with its numbers within what the table and the host allow."""
    fitted: Settings = {}
    for name, value in proposal.set.items():
        row = setting(name, arguments)
        if row.kind == "int" and isinstance(value, int):
            most = row.maximum
            if name.endswith(".num_workers"):
                most = min(most, most_waiting_workers(cpus, picture.ranks))
            value = min(max(value, row.minimum), most)
        fitted[name] = value
    return msgspec.structs.replace(proposal, set=fitted)


def _why_not(
    proposal: Proposal, state: SearchState, picture: Picture, visible: float, cpus: float
) -> str | None:
    allow = state.sitting.allow if state.sitting else "neutral"
    after = combined(state.best, proposal.set)
    told = Told(
        device=None if picture.device == "unknown" else picture.device,
        facts=picture.facts,
        in_force=state.in_force(),
        command=tuple(state.plan.command),
    )
    arguments = state.plan.arguments
    refused = {**why_idle(after, told, arguments), **why_impossible(after, told, arguments)}
    for name in proposal.set:
        if name in refused:
            return refused[name]
    done = done_by_script(proposal.set, picture.facts)
    if done is not None:
        return f"{done} is in force already"
    too_much = why_too_much(after, picture, cpus)
    if too_much is not None:
        return too_much
    if proposal.bound is not None and proposal.bound < visible:
        most, seen = fine_percent(proposal.bound - 1), fine_percent(visible - 1, signed=False)
        return f"{most} at most, and less than {seen} does not show here"
    if proposal.expected is not None and proposal.expected < SMALLEST_GAIN:
        return f"expected to bring {fine_percent(proposal.expected - 1)} only"
    if _STRENGTH[proposal.semantics] > _STRENGTH[allow]:
        return f"{NOT_ALLOWED} {proposal.semantics}"
    return None


def change_words(change: Settings, before: Settings | None = None) -> str:
    """Return a change in words: `loader.num_workers 0 → 4`, or without the old value where it is unknown."""
    told: list[str] = []
    for name, value in change.items():
        old = None if before is None else before.get(name)
        told.append(
            f"{name}={format_value(value)}"
            if old is None
            else f"{name} {format_value(old)} → {format_value(value)}"
        )
    return ", ".join(told) or "as it is"
