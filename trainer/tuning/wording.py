"""Verdicts, gains and losses in words. Pure; no colours, no markup."""

import math
from collections.abc import Sequence

from perftui.ipc.ledger_records import Launch
from perftui.trainer.tuning.regression import Effect
from perftui.trainer.tuning.verdict import SE_LIMIT, Decision, visible_log_gain

_ALL_DIGITS_FROM = 0.1


def fine_percent(fraction: float, *, signed: bool = True) -> str:
    """Return a fraction as percent, with a digit more below ten: +84 %, -0.3 %; no sign of zero."""
    digits = 0 if abs(fraction) >= _ALL_DIGITS_FROM else 1
    rounded = round(100 * fraction, digits)
    return f"{rounded or 0.0:{'+' if signed and rounded else ''}.{digits}f} %"


_LIMIT = fine_percent(SE_LIMIT, signed=False)


def fraction_of(log_gain: float) -> float:
    """Return a log speed-up as a fraction of speed."""
    return math.expm1(log_gain)


def interval_words(effect: Effect) -> str:
    """Return estimate and interval: `+84 %, 98 % interval +71 to +98 %`."""
    gain, lo, hi = (fraction_of(value) for value in (effect.log_gain, effect.lo, effect.hi))
    return f"{fine_percent(gain)}, 98 % interval {fine_percent(lo).removesuffix(' %')} to {fine_percent(hi)}"


def counts_words(launches: Sequence[Launch]) -> str:
    """Return `2 launches, 212 steps`."""
    steps = sum(launch.steps for launch in launches)
    return f"{_plural(len(launches), 'launch', 'launches')}, {_plural(steps, 'step', 'steps')}"


def _plural(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def decision_sentence(decision: Decision, launches: Sequence[Launch], *, contended: bool | None) -> str:
    """Return one sentence for a decision.

    Args:
        decision: what the procedure says.
        launches: what it says it of.
        contended: whether others computed on the host meanwhile; None when not measured.
    """
    effect, counts = decision.effect, counts_words(launches)
    times = f"{math.exp(effect.log_gain):.2f} times as fast ({interval_words(effect)}), {counts}"
    if decision.word == "faster" and decision.obvious:
        return f"{times}; the steps are noisy, but every launch with the change beat every one without by far"
    if decision.word in ("faster", "slower"):
        return times
    if decision.word == "same":
        return f"no difference beyond 2 % ({interval_words(effect)}), {counts}"
    if decision.word == "inconclusive":
        visible = fraction_of(visible_log_gain(effect))
        hidden = f"differences below about {fine_percent(visible, signed=False)} do not show"
        return f"not decided ({interval_words(effect)}), {counts}; {hidden}"
    return f"{_refusal(decision, launches)}, {counts}{_neighbours(launches) if contended else ''}"


def unsettled_sentence(launches: Sequence[Launch], *, contended: bool | None) -> str:
    """Return why launches of which one had not settled are not judged."""
    which = next(launch.label for launch in launches if not launch.settled)
    what = f"the step time of launch {which} was still changing at its end"
    return f"too noisy to judge: {what}, {counts_words(launches)}{_neighbours(launches) if contended else ''}"


def lost_sentence(launches: Sequence[Launch], *, contended: bool | None) -> str:
    """Return why the other setting was not even launched."""
    known = f"step times are known to {_worst(launches)} only, {_LIMIT} is the limit"
    what = known if launches[0].settled else "the step time was still changing at its end"
    return (
        f"too noisy to judge: {what}, {counts_words(launches)}{_neighbours(launches) if contended else ''}; "
        "no further launch could have made a verdict of it"
    )


def _worst(launches: Sequence[Launch]) -> str:
    return fine_percent(max(launch.se or 0.0 for launch in launches), signed=False)


def _refusal(decision: Decision, launches: Sequence[Launch]) -> str:
    if decision.word == "repeats_disagree":
        differ = fine_percent(fraction_of(decision.disagreement or 0.0), signed=False)
        return f"no verdict: two launches of the same settings differ by {differ}"
    return f"too noisy to judge: step times are known to {_worst(launches)} only, {_LIMIT} is the limit"


def _neighbours(launches: Sequence[Launch]) -> str:
    cores = max(launch.foreign_cores or 0.0 for launch in launches)
    return f"; other work keeps {cores:.1f} cores of this host busy"


def explained_sentence(effect: Effect, launches: Sequence[Launch], differing: Sequence[str]) -> str:
    """Return why a difference is not called one: what the launches ran under explains it."""
    why = "; ".join(differing)
    return f"not decided ({interval_words(effect)}), {counts_words(launches)}: {why}, which may be all of it"


def denied_sentence(effect: Effect, launches: Sequence[Launch], why: str) -> str:
    """Return why a difference is not called one: something else that was measured denies it."""
    return f"not decided ({interval_words(effect)}), {counts_words(launches)}: {why}"
