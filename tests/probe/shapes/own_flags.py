"""The flags of a step as its own script knows them."""

from perftui.ipc.messages import (
    FLAG_EPOCH_START,
    FLAG_EXPLICIT_BOUNDARY,
    FLAG_FAILED,
    FLAG_LOADER_BOUNDARY,
    FLAG_PHASES_UNKNOWN,
    FLAG_WAIT_UNKNOWN,
)
from tests.probe.shapes.stopwatch import OwnStep

BOUNDARIES = {"optimizer": 0, "loader": FLAG_LOADER_BOUNDARY, "explicit": FLAG_EXPLICIT_BOUNDARY}


def flags_of(step: OwnStep, boundary: str) -> int:
    flags = BOUNDARIES[boundary]
    flags |= FLAG_EPOCH_START if step.epoch_start else 0
    flags |= FLAG_FAILED if step.failed else 0
    flags |= 0 if step.waits else FLAG_WAIT_UNKNOWN
    flags |= 0 if step.backwards else FLAG_PHASES_UNKNOWN
    return flags
