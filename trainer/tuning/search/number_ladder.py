"""Neighbours of a number that was tried: double what helped, halve what did not. Pure."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from perftui.ipc.search_records import Picture, Proposal
from perftui.ipc.settings import Settings
from perftui.trainer.tuning.search.state import Experiment, says_something

_PART_OF_WHAT_IS_LEFT = 0.5
_TOO_FAR = frozenset({"slower", "failed"})


def neighbours(
    trials: Sequence[Experiment], best: Settings, in_force: Settings, picture: Picture, most_workers: int
) -> Iterator[Proposal]:
    """Yield the next values of the numbers that were tried, the newest trial first.

    Args:
        trials: changes measured so far.
        best: settings of the best configuration.
        in_force: what is in force under it.
        picture: what was seen of it.
        most_workers: more loader workers of a rank are not tried unless a finding says so.
    """
    seen: set[str] = set()
    for trial in reversed(trials):
        number = _number_of(trial)
        if number is None or number[0] in seen:
            continue
        seen.add(number[0])
        proposal = _next(trial, *number, best, in_force, picture)
        if proposal is not None and number[0].endswith(".num_workers"):
            proposal = _within(proposal, number[0], number[1], most_workers)
        if proposal is not None:
            yield proposal


def _number_of(trial: Experiment) -> tuple[str, int] | None:
    """Return name and value of a trial that changed one number."""
    if len(trial.proposal.set) != 1:
        return None
    ((name, value),) = trial.proposal.set.items()
    return (name, value) if isinstance(value, int) and not isinstance(value, bool) else None


def _next(
    trial: Experiment, name: str, value: int, best: Settings, in_force: Settings, picture: Picture
) -> Proposal | None:
    now = best.get(name, in_force.get(name))
    if trial.kept and now == value:
        return _further(trial, name, value, picture)
    if not says_something(trial):
        return None
    if trial.verdict is not None and trial.verdict.verdict in _TOO_FAR and isinstance(now, int):
        between = round(math.sqrt(max(1, now) * value)) if value > now else round((value + now) / 2)
        if between not in (now, value) and between > 0:
            return _proposal(trial, name, between, trial.proposal.bound, trial.proposal.expected)
    return None


def _further(trial: Experiment, name: str, value: int, picture: Picture) -> Proposal | None:
    """Double a number that has helped, where what it helps against still costs something."""
    left = _left(trial.proposal.code, name, picture)
    if left is None or left <= 0 or value <= 0:
        return None
    bound = 1 / (1 - min(left, 0.99))
    return _proposal(trial, name, 2 * value, bound, 1 / (1 - _PART_OF_WHAT_IS_LEFT * min(left, 0.99)))


def _within(proposal: Proposal, name: str, tried: int, most: int) -> Proposal | None:
    """Return the proposal with no more workers than `most`; None where that is no step any more."""
    value = proposal.set[name]
    if not isinstance(value, int) or value <= most:
        return proposal
    return None if tried >= most else msgspec.structs.replace(proposal, set={name: most})


def _left(code: str, name: str, picture: Picture) -> float | None:
    """Return the share of the step that the change may still save; None where that is not known."""
    shares = [finding.share for finding in picture.findings if finding.code == code]
    if name.endswith((".num_workers", ".prefetch_factor")) and picture.wait_share is not None:
        shares.append(picture.wait_share)
    return max(shares, default=None)


def _proposal(
    trial: Experiment, name: str, value: int, bound: float | None, expected: float | None
) -> Proposal:
    return Proposal(
        set={name: value},
        code=trial.proposal.code,
        semantics=trial.proposal.semantics,
        bound=bound,
        expected=expected,
    )
