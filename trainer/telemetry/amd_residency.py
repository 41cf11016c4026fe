"""Throttled time of an AMD GPU as nanoseconds that only rise, made from its firmware's accumulators.

The firmware counts its own rounds, and in how many of them each limit held; their quotient over an interval
is the share of that time (amdsmi's documentation of violation status). Pure but for what it was given before.
"""

from collections.abc import Mapping
from typing import TypeAlias

from perftui.trainer.telemetry.amd_library import number_in

_ROUNDS = "accumulation_counter"
_HELD = {
    "power_cap": ("ppt_residency_acc",),
    "thermal_sw": ("socket_thm_residency_acc", "hbm_thm_residency_acc", "vr_thm_residency_acc"),
    "thermal_hw": ("prochot_residency_acc",),
}
KINDS = tuple(_HELD)
NO_COUNTERS = "this GPU keeps no count of its limits"
_Counts: TypeAlias = tuple[float, float, dict[str, float]]
"""When, the firmware's rounds, and in how many of them each limit held."""


class Residency:
    """Throttled time of one GPU since the first reading."""

    def __init__(self) -> None:
        self._before: _Counts | None = None
        self._total_ns: dict[str, float] = {}

    def take(self, metrics: Mapping[str, object], at_s: float) -> dict[str, int]:
        """Take a reading in; return nanoseconds so far by kind, none where the GPU does not count."""
        rounds = number_in(metrics, _ROUNDS)
        if rounds is None:
            return {}
        held = {
            kind: max(values)
            for kind, names in _HELD.items()
            if (values := [value for name in names if (value := number_in(metrics, name)) is not None])
        }
        before, self._before = self._before, (at_s, rounds, held)
        if before is not None:
            self._add(before, self._before)
        return {kind: int(self._total_ns.setdefault(kind, 0.0)) for kind in held}

    def _add(self, before: _Counts, after: _Counts) -> None:
        gone = after[1] - before[1]
        if gone <= 0:  # the same round, or the firmware began anew
            return
        for kind, count in after[2].items():
            share = (count - before[2].get(kind, count)) / gone
            if 0 <= share <= 1:
                self._total_ns[kind] = self._total_ns.get(kind, 0.0) + share * (after[0] - before[0]) * 1e9
