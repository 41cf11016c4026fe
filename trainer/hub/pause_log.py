"""Interruptions of one rank: checkpoints, validations, long collections, with how long they took. Pure."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median_low
from typing import NamedTuple

from perftui.ipc.messages import RankEvent
from perftui.ipc.units import MIB
from perftui.trainer.diagnosis.signals import ASIDE, PauseSignals

_KEPT = 1024
_NEWEST_OF_A_KIND = 64
"""From which is told how often they come."""
_KINDS = ("checkpoint", "validation", "gc")
_LEAST_DISTANCES = 2
"""From one to the next: of three interruptions."""
_USUAL_OF = 0.75
"""Share of the distances that must be the usual one: the last of an epoch may come early."""


class Pause(NamedTuple):
    """One interruption; times in ns of the rank's clock."""

    begin_ns: int
    duration_ns: int
    kind: str
    step: int = -1
    at: str | None = None
    size_bytes: int | None = None
    text: str = ""


class PauseLog:
    """The newest interruptions, and the whole run in sums."""

    def __init__(self) -> None:
        self._recent: deque[Pause] = deque(maxlen=_KEPT)
        self._whole: dict[str, tuple[int, int, int]] = {}
        """Kind → count, total and longest in ns."""
        self._newest: dict[str, deque[Pause]] = {}

    def add(self, event: RankEvent) -> None:
        """Take an event in; others than interruptions are passed over."""
        if event.event not in _KINDS:
            return
        kind = ASIDE if event.aside else event.event
        pause = Pause(
            event.at_ns, event.duration_ns, kind, event.step, event.at, event.size_bytes, event.text
        )
        self._recent.append(pause)
        if kind != "gc":  # it comes when Python likes
            self._newest.setdefault(kind, deque(maxlen=_NEWEST_OF_A_KIND)).append(pause)
        count, total, longest = self._whole.get(kind, (0, 0, 0))
        self._whole[kind] = (count + 1, total + event.duration_ns, max(longest, event.duration_ns))

    def whole(self, begin_ns: int, end_ns: int) -> tuple[PauseSignals, ...]:
        """Return all interruptions of a run that stepped from one moment to another."""
        return self._told(self._whole, end_ns - begin_ns)

    def between(self, begin_ns: int, end_ns: int) -> tuple[PauseSignals, ...]:
        """Return the interruptions that began within a stretch of time."""
        found: dict[str, tuple[int, int, int]] = {}
        for pause in self._recent:
            if begin_ns <= pause.begin_ns <= end_ns:
                count, total, longest = found.get(pause.kind, (0, 0, 0))
                longest = max(longest, pause.duration_ns)
                found[pause.kind] = (count + 1, total + pause.duration_ns, longest)
        return self._told(found, end_ns - begin_ns)

    def _told(self, found: dict[str, tuple[int, int, int]], span_ns: int) -> tuple[PauseSignals, ...]:
        """How often they come is taken from the newest of the run: a window may hold one of them."""
        return tuple(
            _with_habits(_signals(kind, figures, span_ns), self._newest.get(kind, ()))
            for kind, figures in sorted(found.items())
        )


def _signals(kind: str, figures: tuple[int, int, int], span_ns: int) -> PauseSignals:
    count, total, longest = figures
    return PauseSignals(
        kind=kind,
        count=count,
        total_ms=total / 1e6,
        longest_ms=longest / 1e6,
        share=min(1.0, total / span_ns) if span_ns > 0 else 0.0,
    )


def _with_habits(signals: PauseSignals, recent: Sequence[Pause]) -> PauseSignals:
    """Add how often such interruptions come, where from, and what the newest wrote."""
    if not recent:
        return signals
    newest, saves = recent[-1], signals.kind in ("checkpoint", ASIDE)
    return replace(
        signals,
        every_steps=usual_distance([each.step for each in recent]),
        at=newest.at,
        size_mib=None if newest.size_bytes is None else newest.size_bytes / MIB,
        file=newest.text if saves else None,
        one_file=saves and len({each.text for each in recent}) == 1,
    )


def usual_distance(steps: Sequence[int]) -> int | None:
    """Return the usual number of steps from one interruption to the next; None: there is none.

    Args:
        steps: in which they came, in order; -1: not known. Several in one step count once.
    """
    known = sorted({step for step in steps if step >= 0})
    distances = [after - before for before, after in pairwise(known)]
    if len(distances) < _LEAST_DISTANCES:
        return None
    usual = median_low(distances)
    return usual if distances.count(usual) >= _USUAL_OF * len(distances) else None
