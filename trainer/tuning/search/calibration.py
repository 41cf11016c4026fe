"""How predictions for a setting have come out on this host, by the ledger's own history. Pure.

Expected gains are predictions of a model, or priors of judgement. Where the same setting was measured three
times or more, what is expected of it is moved by the median of measured over expected, in logs. That alters
the order of what is tried and what is shown, never whether it is tried: other trainings are other trainings.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median
from types import MappingProxyType

from perftui.ipc.ledger_records import Comparison
from perftui.ipc.search_records import SEARCH_ID_PREFIX

HISTORY = 200
"""Newest lines of a host that predictions are held against."""
_FEWEST = 3
_LEAST, _MOST = 0.2, 1.5
_LEAST_EXPECTED = 1.01

Calibration = Mapping[str, float]
"""By setting: measured over expected, in logs."""
NO_CALIBRATION: Calibration = MappingProxyType({})


def calibration_of(history: Iterable[Comparison]) -> dict[str, float]:
    """Return what lines of the ledger say of the predictions for each setting."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for line in history:
        if line.finding is None and (line.parent or "").startswith(SEARCH_ID_PREFIX):
            continue  # the end of a search: what is expected there is what its trials have measured
        gain, expected = line.verdict.gain, line.expected
        if len(line.set) != 1 or gain is None or gain <= -1 or expected is None or expected < _LEAST_EXPECTED:
            continue
        (name,) = line.set
        ratios[name].append(math.log1p(gain) / math.log(expected))
    return {
        name: min(max(median(values), _LEAST), _MOST)
        for name, values in ratios.items()
        if len(values) >= _FEWEST
    }


def calibrated(expected: float | None, names: Iterable[str], calibration: Calibration) -> float | None:
    """Return what to expect of a change after what has come out before; None where nothing was expected."""
    if expected is None or expected <= 1:
        return expected
    known = [calibration[name] for name in names if name in calibration]
    return expected if not known else round(expected ** min(known), 3)
