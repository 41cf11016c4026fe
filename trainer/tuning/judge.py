"""From measured launches to the verdict that is shown and kept. Pure."""

import math
from collections.abc import Sequence
from typing import Literal

from perftui.ipc.ledger_records import Launch, Verdict
from perftui.trainer.tuning.beside_speed import beside_speed
from perftui.trainer.tuning.explained import Reason, explains, is_loaded, reasons
from perftui.trainer.tuning.noise import is_learned
from perftui.trainer.tuning.procedure import ORDER, next_label
from perftui.trainer.tuning.regression import Label, Noise, Point
from perftui.trainer.tuning.verdict import Decision, decide
from perftui.trainer.tuning.wording import (
    decision_sentence,
    explained_sentence,
    fraction_of,
    unsettled_sentence,
)

_SAME_WORK_WITHIN = 0.02
"""Means of samples a step that are closer are the same work: the last batch of an epoch may be smaller."""
_UNSETTLED_SE = 0.05
"""Of a launch whose step time was still changing at its end, in log units: above the limit, so that it gives
no verdict, unless the win is obvious even so (by 22 %: four such errors)."""
_UNKNOWN_CONTENDED_SD = 0.03
"""Between launches on a host that others use: a third of it makes every fourth verdict on identical settings
a false one (`benchmarks/verdict_power.py`, the shared host)."""
_MEASURED_WORDS = frozenset({"faster", "slower", "same", "inconclusive"})


def is_contended(launches: Sequence[Launch], cpus: float) -> bool | None:
    """Return whether others computed on the host during any launch; None when that was not measured."""
    foreign = [launch.foreign_cores for launch in launches]
    known = [cores for cores in foreign if cores is not None]
    if any(is_loaded(cores, cpus) for cores in known):
        return True
    return False if known and len(known) == len(foreign) else None


def noise_under(noise: Noise, *, contended: bool | None) -> Noise:
    """Return the launch noise to reckon with: where others compute and nothing was learned, more of it."""
    if not contended or is_learned(noise):
        return noise
    return Noise(max(noise.tau0, _UNKNOWN_CONTENDED_SD), noise.nu0)


def unit_of(launches: Sequence[Launch]) -> Literal["step", "sample"]:
    """Return what the speeds of these launches are to be compared by: steps, unless they hold other work.

    Another batch size or number of ranks makes a step of other work; time per step would then mean nothing.
    """
    sizes = [launch.samples_per_step for launch in launches if launch.log_step_s is not None]
    known = [size for size in sizes if size is not None]
    if not known or len(known) < len(sizes):
        return "step"
    return "sample" if max(known) - min(known) > _SAME_WORK_WITHIN * max(known) else "step"


def points_of(launches: Sequence[Launch]) -> list[Point]:
    """Return measured launches as the procedure sees them: by seconds per step, or per sample."""
    per = unit_of(launches)
    return [
        Point(
            launch.label,
            launch.log_step_s - _log_work(launch, per),
            _standard_error(launch, launch.se),
            launch.df,
        )
        for launch in launches
        if launch.log_step_s is not None and launch.se is not None and launch.df is not None
    ]


def _log_work(launch: Launch, per: Literal["step", "sample"]) -> float:
    return math.log(launch.samples_per_step) if per == "sample" and launch.samples_per_step else 0.0


def _standard_error(launch: Launch, se: float) -> float:
    """Return how well a launch is known: one that was still changing is off by more than its own spread."""
    return se if launch.settled else max(se, _UNSETTLED_SE)


def next_launch(launches: Sequence[Launch], noise: Noise, cpus: float, most_launches: int) -> Label | None:
    """Return which setting to launch next; None when it is over, a failed launch included."""
    points = points_of(launches)
    if len(points) < len(launches) or _incomparable(launches):
        return None
    contended = is_contended(launches, cpus)
    noise, calm = noise_under(noise, contended=contended), contended is False
    label = next_label(points, noise, most_launches=most_launches, uncontended=calm)
    if label is None and len(launches) < min(most_launches, len(ORDER)):
        decision = decide(points, noise, uncontended=calm)
        if _explained(decision, reasons(launches, cpus)):
            return ORDER[len(launches)]  # perhaps the next ones run under equal circumstances
    return label


def _explained(decision: Decision, found: Sequence[Reason]) -> bool:
    return decision.word in ("faster", "slower") and explains(found, decision.effect.lo, decision.effect.hi)


def judge(launches: Sequence[Launch], noise: Noise, cpus: float) -> Verdict:
    """Return the verdict of launches in wall order; of an empty list or a failed launch, `failed`."""
    failed = next((launch for launch in launches if launch.log_step_s is None), None)
    if failed is not None:
        which = "the change" if failed.label == "B" else "the settings in force"
        return failed_verdict(f"a launch with {which} could not be measured: {failed.note}", launches)
    reason = _incomparable(launches)
    points = points_of(launches)
    if reason or {point.label for point in points} != {"A", "B"}:
        return failed_verdict(reason or "both settings must be measured once at least", launches)
    contended = is_contended(launches, cpus)
    noise = noise_under(noise, contended=contended)
    decision = decide(points, noise, uncontended=contended is False)
    if decision.word == "too_noisy" and not all(launch.settled for launch in launches):
        return Verdict(
            verdict="too_noisy",
            sentence=unsettled_sentence(launches, contended=contended),
            launches=len(launches),
            steps=sum(launch.steps for launch in launches),
        )
    differing = reasons(launches, cpus)
    sentence = decision_sentence(decision, launches, contended=contended)
    word = decision.word
    if _explained(decision, differing):
        word = "inconclusive"
        sentence = explained_sentence(decision.effect, launches, [each.words for each in differing])
    per = unit_of(launches)
    if per == "sample":
        sentence += "; per sample, for steps hold different numbers of them"
    measured = word in _MEASURED_WORDS
    beside = beside_speed(launches, per, faster=word == "faster")
    return Verdict(
        verdict=word,
        sentence=sentence
        + ("; per sample, for steps hold different numbers of them" if per == "sample" else ""),
        gain=fraction_of(decision.effect.log_gain) if measured else None,
        lo=fraction_of(decision.effect.lo) if measured else None,
        hi=fraction_of(decision.effect.hi) if measured else None,
        launches=len(launches),
        steps=sum(launch.steps for launch in launches),
        per=per,
        memory_change_mib=beside.memory_change_mib,
        energy_change=beside.energy_change,
        payback_steps=beside.payback_steps,
        notes=[*beside.notes, *(each.words for each in differing)],
    )


def failed_verdict(sentence: str, launches: Sequence[Launch]) -> Verdict:
    """Return a verdict that says why there is none."""
    return Verdict(
        verdict="failed",
        sentence=sentence,
        launches=len(launches),
        steps=sum(launch.steps for launch in launches),
    )


def _incomparable(launches: Sequence[Launch]) -> str | None:
    """Say why these launches must not be compared: identical GPUs differ by up to a fifth in speed."""
    if len({launch.host for launch in launches}) > 1:
        return "the launches ran on different hosts: not comparable"
    if len({tuple(sorted(launch.gpu_uuids)) for launch in launches}) > 1:
        return "the launches ran on different GPUs: not comparable"
    return None
