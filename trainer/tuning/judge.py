"""From measured launches to the verdict that is shown and kept. Pure."""

from collections.abc import Sequence

from perftui.ipc.ledger_records import Launch, Verdict
from perftui.trainer.tuning.procedure import next_label
from perftui.trainer.tuning.regression import Label, Noise, Point
from perftui.trainer.tuning.verdict import decide
from perftui.trainer.tuning.wording import decision_sentence, fraction_of, unsettled_sentence

_FOREIGN_CORES = 0.3
_FOREIGN_SHARE = 0.05
_UNSETTLED_SE = 0.05
"""Of a launch whose step time was still changing at its end, in log units: above the limit, so that it gives
no verdict, unless the win is obvious even so (by 22 %: four such errors)."""
_MEASURED_WORDS = frozenset({"faster", "slower", "same", "inconclusive"})


def is_contended(launches: Sequence[Launch], cpus: float) -> bool | None:
    """Return whether others computed on the host during any launch; None when that was not measured."""
    foreign = [launch.foreign_cores for launch in launches]
    known = [cores for cores in foreign if cores is not None]
    if any(is_loaded(cores, cpus) for cores in known):
        return True
    return False if known and len(known) == len(foreign) else None


def is_loaded(foreign_cores: float, cpus: float) -> bool:
    """Whether so many cores busy with other work disturb a measurement on a host of `cpus` cores."""
    return foreign_cores > max(_FOREIGN_CORES, _FOREIGN_SHARE * cpus)


def points_of(launches: Sequence[Launch]) -> list[Point]:
    """Return measured launches as the procedure sees them."""
    return [
        Point(launch.label, launch.log_step_s, _standard_error(launch, launch.se), launch.df)
        for launch in launches
        if launch.log_step_s is not None and launch.se is not None and launch.df is not None
    ]


def _standard_error(launch: Launch, se: float) -> float:
    """Return how well a launch is known: one that was still changing is off by more than its own spread."""
    return se if launch.settled else max(se, _UNSETTLED_SE)


def next_launch(launches: Sequence[Launch], noise: Noise, cpus: float, most_launches: int) -> Label | None:
    """Return which setting to launch next; None when it is over, a failed launch included."""
    points = points_of(launches)
    if len(points) < len(launches) or _incomparable(launches):
        return None
    calm = is_contended(launches, cpus) is False
    return next_label(points, noise, most_launches=most_launches, uncontended=calm)


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
    decision = decide(points, noise, uncontended=contended is False)
    if decision.word == "too_noisy" and not all(launch.settled for launch in launches):
        return Verdict(
            verdict="too_noisy",
            sentence=unsettled_sentence(launches, contended=contended),
            launches=len(launches),
            steps=sum(launch.steps for launch in launches),
        )
    measured = decision.word in _MEASURED_WORDS
    effect = decision.effect
    return Verdict(
        verdict=decision.word,
        sentence=decision_sentence(decision, launches, contended=contended),
        gain=fraction_of(effect.log_gain) if measured else None,
        lo=fraction_of(effect.lo) if measured else None,
        hi=fraction_of(effect.hi) if measured else None,
        launches=len(launches),
        steps=sum(launch.steps for launch in launches),
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
