"""From the marks of a sampled step to the parts of its time on the device. Pure."""

from typing import NamedTuple

from perftui.trainer.probe.device_track import NO_COPY, Marks
from perftui.trainer.probe.stamps import (
    BACKWARD_BEGIN,
    BACKWARD_END,
    COMM_BEGIN,
    FETCH_BEGIN,
    FETCH_END,
    H2D_BEGIN,
    H2D_END,
    OPTIMIZER_BEGIN,
    OPTIMIZER_END,
)

_AFTER = {FETCH_BEGIN: "wait", FETCH_END: "forward", BACKWARD_BEGIN: "backward"}
_BORDERS = (FETCH_BEGIN, BACKWARD_BEGIN, OPTIMIZER_BEGIN, OPTIMIZER_END)


class DeviceTimes(NamedTuple):
    """One step on the device, in ms; -1 for what was not looked at, or is not there."""

    total: float
    wait: float
    h2d: float
    forward: float
    backward: float
    comm: float
    optimizer: float
    other: float


def device_times(marks: Marks) -> DeviceTimes | None:
    """Return where the time between a step's marks went; None where they tell of no training step.

    What lies between two marks belongs to the phase that the first of them opens, but for copies to the
    device, and for what follows the backward's own work, which is communication. Where no fetch is seen
    nobody knows where the forward began: what comes before the backward is other.
    """
    parts = dict.fromkeys(("wait", "h2d", "forward", "backward", "comm", "optimizer", "other"), 0.0)
    phase = "other"
    fetched = any(code == FETCH_END for code, _ in marks)
    copied = communicated = False
    for place, (code, span_ms) in enumerate(marks):
        part = phase = _phase_from(code, phase, marks, place)
        if code == H2D_BEGIN and _was_copy(marks, place):
            part, copied = "h2d", True
        elif code == COMM_BEGIN:
            part, communicated = "comm", True
        parts[part] += span_ms
    if not parts["backward"] and not parts["optimizer"]:
        return None
    if not fetched:  # a step begins with the mark of a fetch also where there is none
        parts["other"] += parts.pop("wait")
    return DeviceTimes(
        total=sum(parts.values()),
        wait=parts.get("wait", -1.0),
        h2d=parts["h2d"] if copied else -1.0,
        forward=parts["forward"] if fetched or parts["forward"] else -1.0,
        backward=parts["backward"],
        comm=parts["comm"] if communicated else -1.0,
        optimizer=parts["optimizer"],
        other=parts["other"],
    )


def _phase_from(code: int, phase: str, marks: Marks, place: int) -> str:
    if code in (H2D_BEGIN, H2D_END, NO_COPY, COMM_BEGIN):
        return phase
    if code in (OPTIMIZER_BEGIN, BACKWARD_END):
        return _in_optimizer(code, marks, place)
    return _AFTER.get(code, "other")


def _in_optimizer(code: int, marks: Marks, place: int) -> str:
    """Return what begins with an optimizer, or with a backward's end: a closure has phases in between."""
    following = [each for each, _ in marks[place + 1 :] if each in _BORDERS]
    if code == OPTIMIZER_BEGIN:
        return "forward" if following[:1] == [BACKWARD_BEGIN] else "optimizer"
    opened = next(
        (each for each, _ in reversed(marks[:place]) if each in (OPTIMIZER_BEGIN, OPTIMIZER_END)), -1
    )
    if opened != OPTIMIZER_BEGIN:
        return "other"
    return "forward" if following[:1] == [BACKWARD_BEGIN] else "optimizer"


def _was_copy(marks: Marks, place: int) -> bool:
    return next((code for code, _ in marks[place + 1 :] if code in (H2D_END, NO_COPY)), NO_COPY) == H2D_END
