"""From measured launches to the verdict that is shown and kept. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perftui.ipc.ledger_records import BROKEN, Launch, Verdict
from perftui.trainer.tuning.beside_speed import beside_speed
from perftui.trainer.tuning.explained import Reason, explains, is_loaded, reasons, without_cold
from perftui.trainer.tuning.noise import before_repeats, is_learned, is_untold
from perftui.trainer.tuning.procedure import ORDER, next_label
from perftui.trainer.tuning.reach import Prospect, is_lost_from_the_start
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Label, Noise, Point
from perftui.trainer.tuning.stalls import contradicts, plain_gain, stalls_words, unseen_epoch_words
from perftui.trainer.tuning.verdict import DECIDED, SE_LIMIT, Decision, decide
from perftui.trainer.tuning.wording import (
    decision_sentence,
    denied_sentence,
    explained_sentence,
    fraction_of,
    lost_sentence,
    unsettled_sentence,
)
from perftui.trainer.tuning.work_of_steps import Unit, unequal_work, unit_of

_UNSETTLED_SE = 0.05
"""Of a launch whose step time was still changing at its end, in log units: above the limit, so that it gives
no verdict, unless the win is obvious even so (by 22 %: four such errors)."""
_UNKNOWN_CONTENDED_SD = 0.03
"""Between launches on a host that others use: a third of it makes every fourth verdict on identical settings
a false one (`benchmarks/verdict_power.py`, the shared host)."""
_MEASURED_WORDS = DECIDED | {"inconclusive"}


def is_contended(launches: Sequence[Launch], cpus: float) -> bool | None:
    """Return whether others computed on the host during any launch; None when that was not measured."""
    foreign = [launch.foreign_cores for launch in launches]
    known = [cores for cores in foreign if cores is not None]
    if any(is_loaded(cores, cpus) for cores in known):
        return True
    return False if known and len(known) == len(foreign) else None


def noise_under(noise: Noise, launches: Sequence[Launch], cpus: float) -> Noise:
    """Return the launch noise to reckon with: more of it where others compute, unless it was learned so.

    Args:
        noise: what is known of the host.
        launches: that are to be judged.
        cpus: effective cores of the host.
    """
    usual_sd = DEFAULT_NOISE.tau0
    if is_contended(launches, cpus):
        usual_sd = _UNKNOWN_CONTENDED_SD
        if not (is_learned(noise) and is_loaded(noise.foreign_cores, cpus)):
            noise = Noise(max(noise.tau0, usual_sd), DEFAULT_NOISE.nu0)
    return before_repeats(noise, len(launches), usual_sd)


def points_of(launches: Sequence[Launch], semantics: str = "neutral") -> list[Point]:
    """Return measured launches as the procedure sees them: by seconds per step, or per sample.

    Args:
        launches: of both settings.
        semantics: of the change.
    """
    per = unit_of(launches, semantics)
    return [
        Point(
            launch.label,
            launch.log_step_s - _log_work(launch, per),
            _standard_error(launch, launch.se),
            launch.df,
        )
        for launch in launches
        if launch.log_step_s is not None
        and launch.se is not None
        and launch.df is not None
        and launch.outcome not in BROKEN
    ]


def _log_work(launch: Launch, per: Unit) -> float:
    return math.log(launch.samples_per_step) if per == "sample" and launch.samples_per_step else 0.0


def _standard_error(launch: Launch, se: float) -> float:
    """Return how well a launch is known: one that was still changing is off by more than its own spread."""
    return se if launch.settled else max(se, _UNSETTLED_SE)


@dataclass(frozen=True)
class _Look:
    """What launches of both settings say, and under what."""

    warm: list[Launch]
    """Those that count."""
    per: Unit
    points: list[Point]
    decision: Decision
    differing: list[Reason]
    contended: bool | None


def _look(launches: Sequence[Launch], noise: Noise, cpus: float, semantics: str) -> _Look:
    warm = without_cold(launches)
    contended = is_contended(warm, cpus)
    points = points_of(warm, semantics)
    decision = decide(points, noise_under(noise, warm, cpus), uncontended=contended is False)
    return _Look(warm, unit_of(warm, semantics), points, decision, reasons(warm, cpus), contended)


def next_launch(
    launches: Sequence[Launch],
    noise: Noise,
    cpus: float,
    most_launches: int,
    semantics: str = "neutral",
    bound: float | None = None,
) -> Label | None:
    """Return which setting to launch next; None when it is over, a failed launch included.

    Args:
        launches: so far, in wall order.
        noise: what is known of the noise between launches here.
        cpus: effective cores of the host.
        most_launches: of the comparison.
        semantics: of the change.
        bound: the largest speed-up that the change can bring, as a factor; None: not known.
    """
    done = len(launches)
    if len(points_of(launches)) < done or _incomparable(launches) or done >= min(most_launches, len(ORDER)):
        return None
    warm = without_cold(launches)
    calm = is_contended(warm, cpus) is False
    if is_lost_from_the_start(points_of(warm, semantics), Prospect(cpus, bound), uncontended=calm):
        return None
    label = next_label(
        points_of(warm, semantics),
        noise_under(noise, warm, cpus),
        most_launches=most_launches,
        uncontended=calm,
        untold=is_untold(noise, len(warm)),
    )
    if label is None:
        look = _look(launches, noise, cpus, semantics)
        if not _explained(look) and not _contradicted(look):
            return None
    return ORDER[done]  # perhaps under equal circumstances, or with equal stalls


def _explained(look: _Look) -> bool:
    effect = look.decision.effect
    return look.decision.word in ("faster", "slower") and explains(look.differing, effect.lo, effect.hi)


def _contradicted(look: _Look) -> bool:
    return contradicts(plain_gain(look.warm, look.per), look.decision.word, look.decision.effect.log_gain)


def judge(launches: Sequence[Launch], noise: Noise, cpus: float, *, semantics: str = "neutral") -> Verdict:
    """Return the verdict of launches in wall order; of an empty list or a failed launch, `failed`.

    Args:
        launches: of both settings.
        noise: what is known of the noise between launches here.
        cpus: effective cores of the host.
        semantics: of the change; one that makes another training may alter the work of a step.
    """
    failed = next((each for each in launches if each.log_step_s is None or each.outcome in BROKEN), None)
    if failed is not None:
        which = "the change" if failed.label == "B" else "the settings in force"
        return failed_verdict(f"a launch with {which} could not be measured: {failed.note}", launches)
    if len(launches) == 1 and points_of(launches)[0].se > SE_LIMIT:
        return _lost_verdict(launches, cpus)
    reason = _incomparable(launches)
    if reason or {point.label for point in points_of(launches)} != {"A", "B"}:
        return failed_verdict(reason or "both settings must be measured once at least", launches)
    look = _look(launches, noise, cpus, semantics)
    if look.decision.word == "too_noisy" and not all(launch.settled for launch in look.warm):
        return Verdict(
            verdict="too_noisy",
            sentence=unsettled_sentence(look.warm, contended=look.contended),
            launches=len(launches),
            steps=sum(launch.steps for launch in launches),
        )
    held_back = _held_back(look, semantics)
    word = "inconclusive" if held_back else look.decision.word
    sentence = held_back or decision_sentence(look.decision, look.warm, contended=look.contended)
    effect, measured = look.decision.effect, word in _MEASURED_WORDS
    beside = beside_speed(look.warm, look.per, faster=word == "faster")
    return Verdict(
        verdict=word,
        sentence="; ".join([sentence, *_clauses(look, word, cold=len(launches) - len(look.warm))]),
        gain=fraction_of(effect.log_gain) if measured else None,
        lo=fraction_of(effect.lo) if measured else None,
        hi=fraction_of(effect.hi) if measured else None,
        launches=len(launches),
        steps=sum(launch.steps for launch in launches),
        per=look.per,
        memory_change_mib=beside.memory_change_mib,
        energy_change=beside.energy_change,
        payback_steps=beside.payback_steps,
        notes=[*beside.notes, *(each.words for each in look.differing)],
    )


def _lost_verdict(launches: Sequence[Launch], cpus: float) -> Verdict:
    """Return the refusal after one launch: the second could not have made a verdict of it."""
    return Verdict(
        verdict="too_noisy",
        sentence=lost_sentence(launches, contended=is_contended(launches, cpus)),
        launches=len(launches),
        steps=sum(launch.steps for launch in launches),
    )


def _held_back(look: _Look, semantics: str) -> str | None:
    """Return why what the launches say is not called so, in a sentence; None: it is."""
    effect, launches = look.decision.effect, look.warm
    unequal = unequal_work(launches, semantics)
    if unequal and look.decision.word in DECIDED:
        return denied_sentence(effect, launches, unequal)
    if _explained(look):
        return explained_sentence(effect, launches, [each.words for each in look.differing])
    if _contradicted(look):
        return denied_sentence(effect, launches, stalls_words(launches, look.per))
    return None


def _clauses(look: _Look, word: str, *, cold: int) -> Iterator[str]:
    """Yield what else there is to say of a verdict; `cold`: launches that were left out."""
    if look.per == "sample":
        yield "per sample, for steps hold different numbers of them"
    if cold:
        which = "1 launch" if cold == 1 else f"{cold} launches"
        yield f"not counted: {which} that read from storage what later ones found in memory"
    unseen = unseen_epoch_words(look.warm)
    if unseen and word in ("faster", "same"):
        yield unseen


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
