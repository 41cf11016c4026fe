"""What a tool itself kept of a run: the proof that it measured, or the reason why a figure is void."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.rivals.arms import Arm

LEAST_RECORDED = 0.9
"""Share of the steps; what falls into the last batch on its way, or out of a queue, is reported beside."""


@dataclass(frozen=True)
class Evidence:
    """Steps that the tool recorded, by phase (`step`, `wait`, `forward`, ...), and its name for where."""

    recorded: Mapping[str, int] = field(default_factory=dict[str, int])
    where: str = ""
    notes: tuple[str, ...] = ()
    missing: str | None = None


def why_void(
    arm: Arm, evidence: Evidence, steps: int, patched: Mapping[str, str], *, may_lose: bool
) -> str | None:
    """Return why a figure may not be used, or None.

    Args:
        arm: what was to be measured.
        evidence: what the tool kept.
        steps: how many steps the process made.
        patched: the functions that were somebody else's during the loop.
        may_lose: the loop is too fast for some, and what they lose is part of the answer.
    """
    if arm.tool == "plain":
        return f"a plain process is patched: {', '.join(patched)}" if patched else None
    if evidence.missing is not None:
        return evidence.missing
    short = {name: evidence.recorded.get(name, 0) for name in arm.phases}
    if may_lose:
        return None if short.get("step") else "it recorded no step"
    too_few = [f"{name} {count}" for name, count in short.items() if count < LEAST_RECORDED * steps]
    return f"of {steps} steps it recorded only: {', '.join(too_few)}" if too_few else None
