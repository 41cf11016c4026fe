"""What the trimmed mean of a launch leaves out: epoch starts, pauses, swapping. Pure.

The trimmed mean is what launches can be told apart by, but the user pays for every stall. So a difference is
called one only where the plain mean of all steady steps says much the same.
"""

import math
from collections.abc import Sequence

from perftui.ipc.ledger_records import Launch
from perftui.trainer.tuning.work_of_steps import Unit

_LEAST_SHARE = 0.5
"""Of the difference that the plain means must show too: they scatter more, for rare stalls are in them."""
_SAME_WITHIN = 0.05
"""In log units: plain means of equal settings seldom lie further apart where launches are known to 2 %."""


def plain_gain(launches: Sequence[Launch], per: Unit) -> float | None:
    """Return B's log speed-up by the plain means of all steady steps; None where a launch does not tell.

    Args:
        launches: measured ones of both settings.
        per: what the speeds are of.
    """
    times = _mean_ms(launches, "A", per), _mean_ms(launches, "B", per)
    return None if times[0] is None or times[1] is None else math.log(times[0] / times[1])


def contradicts(plain: float | None, word: str, log_gain: float) -> bool:
    """Whether the plain means deny what the trimmed ones say.

    Args:
        plain: log speed-up of B by the plain means; None denies nothing.
        word: what the trimmed means say.
        log_gain: log speed-up of B by them.
    """
    if plain is None:
        return False
    if word == "same":
        return abs(plain) > _SAME_WITHIN
    return word in ("faster", "slower") and plain * math.copysign(1, log_gain) < _LEAST_SHARE * abs(log_gain)


def stalls_words(launches: Sequence[Launch], per: Unit) -> str:
    """Return what the plain means are, in words."""
    a, b = _mean_ms(launches, "A", per) or 0.0, _mean_ms(launches, "B", per) or 0.0
    return f"with all stalls (epoch starts, pauses) a {per} takes {a:.3g} ms in A and {b:.3g} ms in B"


def unseen_epoch_words(launches: Sequence[Launch]) -> str | None:
    """Say that more workers were measured in steps among which no epoch began; None where nothing is hidden.

    Workers that do not persist are started anew at each epoch, which may take seconds.
    """
    before = max((_workers(each) for each in launches if each.label == "A"), default=0)
    changed = [each for each in launches if each.label == "B"]
    workers = max((_workers(each) for each in changed), default=0)
    unseen = any(each.epoch_starts == 0 and not _persist(each) for each in changed)
    if workers <= before or not unseen:
        return None
    return f"no epoch began while B was measured: what it costs to start {workers} workers is not in it"


def _mean_ms(launches: Sequence[Launch], label: str, per: Unit) -> float | None:
    times = [_time_ms(each, per) for each in launches if each.label == label]
    known = [time for time in times if time]
    return sum(known) / len(known) if known and len(known) == len(times) else None


def _time_ms(launch: Launch, per: Unit) -> float | None:
    if per == "step" or launch.step_ms is None:
        return launch.step_ms
    return launch.step_ms / launch.samples_per_step if launch.samples_per_step else None


def _workers(launch: Launch) -> int:
    value = {**launch.settings, **launch.effective}.get("loader.num_workers")
    return value if isinstance(value, int) else 0


def _persist(launch: Launch) -> bool:
    return {**launch.settings, **launch.effective}.get("loader.persistent_workers") is True
