"""Whether a change that alters rounding has left the training what it was, as far as losses tell. Pure.

Trials have one seed, so that the same steps see the same samples where the script lets them. Rounding alone
makes single losses differ after some steps; their mean over the second half of the steps that both have does
not move by much. What does is thrown away, however fast: a training that learns worse is not a gain.
"""

import math
from collections.abc import Mapping, Sequence

from perftui.ipc.ledger_records import Verdict

_MOST_WORSE = 0.10
"""Of the loss before: a choice; TF32 and bf16 lie far below in the trainings that they suit."""
_STANDARD_ERRORS = 3.0
_FEWEST = 3

Losses = Mapping[int, float | None]


def loss_trouble(before: Sequence[Losses], after: Sequence[Losses]) -> str | None:
    """Say what is wrong with the losses of the changed training; None where nothing is, or nobody can tell.

    Args:
        before: losses by step, of each launch without the change.
        after: the same with the change.
    """
    if any(
        math.isfinite(value or 0.0) is False or value is None for each in after for value in each.values()
    ):
        clean = all(value is not None for each in before for value in each.values())
        return "the loss is no number with the change" if clean and before else None
    if not before or not after:
        return None
    common = sorted(set(before[0]) & set(after[0]))
    steps = common[len(common) // 2 :]
    old = [value for step in steps if (value := before[0][step]) is not None]
    new = [value for step in steps if (value := after[0][step]) is not None]
    if len(old) != len(new) or len(old) < _FEWEST:
        return None
    differences = [b - a for a, b in zip(old, new, strict=True)]
    mean = sum(differences) / len(differences)
    spread = math.sqrt(sum((each - mean) ** 2 for each in differences) / (len(differences) - 1))
    scale = abs(sum(old) / len(old))
    allowed = _MOST_WORSE * scale + _STANDARD_ERRORS * spread / math.sqrt(len(differences))
    if mean <= allowed:
        return None
    return (
        f"the loss is worse with the change: {sum(new) / len(new):.4g} instead of {sum(old) / len(old):.4g} "
        f"over the last {len(old)} of the steps that both have"
    )


def keeps(verdict: Verdict, trouble: str | None) -> bool:
    """Tell whether a change stays."""
    return verdict.verdict == "faster" and trouble is None
