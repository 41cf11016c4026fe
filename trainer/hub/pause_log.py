"""Interruptions of one rank: checkpoints, validations, long collections, with how long they took. Pure."""

from collections import deque
from typing import NamedTuple

from perftui.ipc.messages import RankEvent
from perftui.trainer.diagnosis.signals import ASIDE, PauseSignals

_KEPT = 1024
_KINDS = ("checkpoint", "validation", "gc")


class Pause(NamedTuple):
    """One interruption; times in ns of the rank's clock."""

    begin_ns: int
    duration_ns: int
    kind: str


class PauseLog:
    """The newest interruptions, and the whole run in sums."""

    def __init__(self) -> None:
        self._recent: deque[Pause] = deque(maxlen=_KEPT)
        self._whole: dict[str, tuple[int, int, int]] = {}
        """Kind → count, total and longest in ns."""

    def add(self, event: RankEvent) -> None:
        """Take an event in; others than interruptions are passed over."""
        if event.event not in _KINDS:
            return
        kind = ASIDE if event.aside else event.event
        self._recent.append(Pause(event.at_ns, event.duration_ns, kind))
        count, total, longest = self._whole.get(kind, (0, 0, 0))
        self._whole[kind] = (count + 1, total + event.duration_ns, max(longest, event.duration_ns))

    def whole(self, begin_ns: int, end_ns: int) -> tuple[PauseSignals, ...]:
        """Return all interruptions of a run that stepped from one moment to another."""
        return tuple(
            _signals(kind, figures, end_ns - begin_ns) for kind, figures in sorted(self._whole.items())
        )

    def between(self, begin_ns: int, end_ns: int) -> tuple[PauseSignals, ...]:
        """Return the interruptions that began within a stretch of time."""
        found: dict[str, tuple[int, int, int]] = {}
        for pause in self._recent:
            if begin_ns <= pause.begin_ns <= end_ns:
                count, total, longest = found.get(pause.kind, (0, 0, 0))
                longest = max(longest, pause.duration_ns)
                found[pause.kind] = (count + 1, total + pause.duration_ns, longest)
        return tuple(_signals(kind, figures, end_ns - begin_ns) for kind, figures in sorted(found.items()))


def _signals(kind: str, figures: tuple[int, int, int], span_ns: int) -> PauseSignals:
    count, total, longest = figures
    return PauseSignals(
        kind=kind,
        count=count,
        total_ms=total / 1e6,
        longest_ms=longest / 1e6,
        share=min(1.0, total / span_ns) if span_ns > 0 else 0.0,
    )
