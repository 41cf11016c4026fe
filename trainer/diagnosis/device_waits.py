"""What looks at the training thread tell of waits for the GPU, and what of logging remains without them.

A rank of an older perftui counts a wait in `print(f"{loss.item()}")` to logging. On a GPU such a line is
taken to wait: what it writes costs microseconds, and what it reads costs all that the GPU has still to do.
"""

import re

from perftui.ipc.facts import StackFacts, StackPlace
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.signals import RankSignals

_READS = re.compile(
    r"\.(?:item|tolist|cpu|numpy|synchronize)\(|\b(?:float|int|bool)\([^)\d\"']|\.to\(\s*[\"']cpu|empty_cache\("
)
_OWN = ("script", "logging", "model")


def wait_share(rank: RankSignals, policy: Policy) -> float | None:
    """Return the share of looks that found the training thread waiting for the GPU; None: too few looks."""
    stacks = rank.facts.stacks
    if stacks is None or stacks.looks < policy.stack_looks or rank.device in ("cpu", "unknown"):
        return None
    if stacks.waits_told:
        return stacks.areas.get("device", 0) / stacks.looks
    return sum(place.count for place in _waits(stacks)) / stacks.looks


def wait_place(rank: RankSignals) -> StackPlace | None:
    """Return the line that was found waiting for the GPU most often."""
    stacks = rank.facts.stacks
    if stacks is None or rank.device in ("cpu", "unknown"):
        return None
    return max(_waits(stacks), key=lambda place: place.count, default=None)


def logged_share(rank: RankSignals, policy: Policy) -> float | None:
    """Return the share of looks that found the training thread logging, waits for the GPU left out."""
    stacks = rank.facts.stacks
    if stacks is None or stacks.looks < policy.stack_looks:
        return None
    logged = stacks.areas.get("logging", 0)
    if rank.device not in ("cpu", "unknown") and not stacks.waits_told:
        logged -= sum(place.count for place in _waits(stacks) if place.area == "logging")
    return logged / stacks.looks


def _waits(stacks: StackFacts) -> list[StackPlace]:
    if stacks.waits_told:
        return [place for place in stacks.places if place.area == "device"]
    return [place for place in stacks.places if place.area in _OWN and _READS.search(place.line or "")]
