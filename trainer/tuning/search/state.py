"""The state of a search: the fold of its ledger entries. Pure.

A launch is a *neighbour* of the next one when nothing came between them: then it may serve in the next
comparison too, which saves a launch a change. Launches that lie far apart, or on both sides of a restart of
the host, are no neighbours: drift between them is not what the procedure allows for. Nor are launches of
another program, or on other GPUs: the difference would not be the change's.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import msgspec

from perftui.ipc.ledger_records import BROKEN, Launch, Verdict
from perftui.ipc.search_records import (
    Begun,
    Ended,
    Judged,
    Measured,
    Picture,
    Proposal,
    Purpose,
    SearchEntry,
    SearchPlan,
    Sitting,
)
from perftui.ipc.settings import Settings, SettingValue, combined
from perftui.trainer.tuning.search.visible import is_noisy

NEIGHBOUR_S = 900.0
"""A choice: drift that procedure P allows for is that of launches minutes apart."""

NO_WORD = frozenset({"too_noisy", "repeats_disagree"})
"""Verdicts that say nothing of the change: it may be measured again at another time."""

Configuration = frozenset[tuple[str, SettingValue]]


@dataclass(frozen=True)
class Experiment:
    """One comparison of two configurations, going on or judged."""

    comparison_id: str
    purpose: Purpose
    proposal: Proposal
    before: Settings
    after: Settings
    measured: tuple[Measured, ...] = ()
    """Labelled for this comparison, in wall order."""
    verdict: Verdict | None = None
    kept: bool = False

    @property
    def launches(self) -> list[Launch]:
        """The launches, in wall order."""
        return [each.launch for each in self.measured]

    def launch_of(self, label: str) -> Launch | None:
        """Return the last good launch of a label."""
        good = [each for each in self.launches if each.label == label and each.log_step_s is not None]
        return good[-1] if good else None


@dataclass(frozen=True)
class SearchState:
    """Everything that is known of a search."""

    plan: SearchPlan
    sitting: Sitting | None = None
    best: Settings = field(default_factory=dict[str, SettingValue])
    """Settings of the best configuration so far."""
    first: tuple[Measured, ...] = ()
    """Launches of the original outside any comparison: the baseline."""
    open: Experiment | None = None
    judged: tuple[Experiment, ...] = ()
    pictures: dict[Configuration, Picture] = field(default_factory=dict[Configuration, Picture])
    last: Measured | None = None
    """The newest launch, as long as it is a neighbour of what is launched now."""
    wall_s: tuple[float, ...] = ()
    """What each launch took, all in all."""
    earlier: int = 0
    """How many comparisons were judged before this sitting."""
    ended: Ended | None = None

    @property
    def baseline(self) -> Launch | None:
        """The first launch of the original that could be measured."""
        return next((each.launch for each in self.first if each.launch.log_step_s is not None), None)

    @property
    def trials(self) -> tuple[Experiment, ...]:
        """Changes that were measured, in order."""
        return tuple(each for each in self.judged if each.purpose == "trial")

    @property
    def of_this_sitting(self) -> tuple[Experiment, ...]:
        """Changes that were measured since the search was started or taken up again."""
        return tuple(each for each in self.judged[self.earlier :] if each.purpose == "trial")

    @property
    def final(self) -> Experiment | None:
        """The newest comparison of the original with what is now the best.

        One from which an earlier sitting learned nothing is as good as none.
        """
        finals = [
            each
            for place, each in enumerate(self.judged)
            if each.purpose == "final" and (place >= self.earlier or says_something(each))
        ]
        if not finals or self.configuration(finals[-1].after) != self.configuration(self.best):
            return None
        return finals[-1]

    @property
    def changed(self) -> Settings:
        """What the best configuration has that the original has not."""
        before = self.plan.baseline
        return {name: value for name, value in self.best.items() if before.get(name, self) != value}

    @property
    def picture(self) -> Picture | None:
        """What is known of the best configuration."""
        return self.pictures.get(self.configuration(self.best))

    def configuration(self, settings: Settings) -> Configuration:
        """Return what settings come to: values that the original has anyway make no difference."""
        seen = self.baseline
        original = {**(seen.effective if seen else {}), **self.plan.baseline}
        return frozenset((name, value) for name, value in settings.items() if original.get(name) != value)

    def in_force(self) -> Settings:
        """Return the values in force under the best configuration, as far as they were read back."""
        picture = self.picture
        return {**(picture.in_force if picture else {}), **self.best}


def says_something(done: Experiment) -> bool:
    """Tell whether a comparison says anything of its change.

    One that failed does where the change is to blame: a launch with it broke down or could not be measured,
    or its losses went wrong. A launch without it that failed, or launches on other GPUs, say nothing of it.
    """
    verdict = done.verdict
    if verdict is None or verdict.verdict in NO_WORD:
        return False
    if verdict.verdict != "failed":
        return True
    with_change = [each for each in done.launches if each.label == "B"]
    broke = any(each.log_step_s is None or each.outcome in BROKEN for each in with_change)
    return broke or verdict.loss_agrees is False


def begin(plan: SearchPlan) -> SearchState:
    """Return the state of a search of which nothing has been done."""
    return SearchState(plan, best=dict(plan.baseline))


def fold(plan: SearchPlan, entries: Iterable[SearchEntry]) -> SearchState:
    """Return the state that a search's entries lead to."""
    state = begin(plan)
    for entry in entries:
        state = advance(state, entry)
    return state


def advance(state: SearchState, entry: SearchEntry) -> SearchState:
    """Return the state after one more entry."""
    if isinstance(entry, Sitting):
        return _sat_down(state, entry)
    if isinstance(entry, Measured):
        return _measured(state, entry)
    if isinstance(entry, Begun):
        return _begun(state, entry)
    if isinstance(entry, Judged):
        return _judged(state, entry)
    return replace(state, ended=entry)


def _sat_down(state: SearchState, sitting: Sitting) -> SearchState:
    before, last = state.sitting, state.last
    state = replace(state, sitting=sitting, ended=None, earlier=len(state.judged))
    if not state.judged and state.open is None:  # what could not be used for anything is measured again
        good = tuple(each for each in state.first if not is_noisy(each.launch))
        state = replace(state, first=good, last=last if good and last is good[-1] else None)
    if before is None or last is None:
        return state
    near = (
        state.last is not None
        and before.boot_id == sitting.boot_id
        and same_program(before, sitting)
        and 0 <= sitting.unix - last.unix <= NEIGHBOUR_S
    )
    if near:
        return state
    opened = None if state.open is None else replace(state.open, measured=())
    return replace(state, last=None, open=opened)


def same_program(before: Sitting, now: Sitting) -> bool:
    """Tell whether launches of two sittings run the same code on the same GPUs, as far as is known."""
    return (before.commit, before.versions, before.code, before.devices) == (
        now.commit,
        now.versions,
        now.code,
        now.devices,
    )


def _measured(state: SearchState, entry: Measured) -> SearchState:
    state = replace(state, last=entry, wall_s=(*state.wall_s, entry.wall_s))
    if state.open is None:
        state = replace(state, first=(*state.first, entry))
    else:
        opened = state.open
        state = replace(state, open=replace(opened, measured=(*opened.measured, entry)))
    if entry.picture is None or entry.launch.log_step_s is None:
        return state
    key = state.configuration(entry.launch.settings)
    return replace(state, pictures={**state.pictures, key: entry.picture})


def _begun(state: SearchState, entry: Begun) -> SearchState:
    change = entry.proposal.set
    if entry.purpose == "final":
        opened = Experiment(
            entry.comparison_id, "final", entry.proposal, dict(state.plan.baseline), dict(state.best)
        )
        return replace(state, open=opened)
    before = dict(state.best)
    opened = Experiment(
        entry.comparison_id, "trial", entry.proposal, before, combined(before, change), _reused(state)
    )
    return replace(state, open=opened)


def _reused(state: SearchState) -> tuple[Measured, ...]:
    """Return the newest launch as A of the next comparison, where it was one of the best configuration."""
    last = state.last
    if last is None or last.launch.log_step_s is None or last.launch.settings != state.best:
        return ()
    return (msgspec.structs.replace(last, launch=msgspec.structs.replace(last.launch, label="A")),)


def _judged(state: SearchState, entry: Judged) -> SearchState:
    if state.open is None:
        return state
    done = replace(state.open, verdict=entry.verdict, kept=entry.kept)
    best = state.best
    if done.purpose == "trial" and entry.kept:
        best = done.after
    elif done.purpose == "final" and entry.verdict.verdict == "slower":
        best = done.before
    return replace(state, open=None, judged=(*state.judged, done), best=best)
