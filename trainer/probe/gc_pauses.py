"""Times Python's garbage collections: totals for all, and the long ones apart.

A collection stops every thread of the process, whichever it began in. `heard` is called twice for each, so it
does arithmetic on what is there already and nothing that could raise. Only a process that trains watches:
loader workers that are forked from it stop at once.
"""

import gc
import os
from collections import deque
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, NamedTuple

from perftui.ipc.facts import GcFacts

PAUSE_MS = 10.0
"""A collection of at least this length is an event."""
_PAUSES_KEPT = 64
_OLDEST = 2


class Pause(NamedTuple):
    """A collection that was long."""

    at_ns: int
    duration_ns: int
    generation: int
    collected: int
    """Objects it freed."""


class GcWatch:
    """Counts the collections of this process.

    Args:
        pause_ms: see `PAUSE_MS`.
        clock: in ns.
    """

    def __init__(self, pause_ms: float = PAUSE_MS, clock: Callable[[], int] = perf_counter_ns) -> None:
        self._counts = [0, 0, 0]
        self._total_ns = [0, 0, 0]
        self._longest_ns = 0
        self._long = 0
        self._long_ns = int(pause_ms * 1e6)
        self._began_ns = 0
        self._clock = clock
        self._pauses: deque[tuple[int, int, int, int]] = deque(maxlen=_PAUSES_KEPT)

    def begin(self) -> None:
        """Watch from now on."""
        gc.callbacks.append(self.heard)
        _watching.append(self)

    def end(self) -> None:
        """Watch no longer."""
        if self.heard in gc.callbacks:
            gc.callbacks.remove(self.heard)
        if self in _watching:
            _watching.remove(self)

    def heard(self, phase: str, info: dict[str, Any]) -> None:
        """Called by the interpreter at the start and at the stop of each collection."""
        if phase == "start":
            self._began_ns = self._clock()
            return
        began = self._began_ns
        if not began:  # this collection had begun before the watch
            return
        self._began_ns = 0
        took = self._clock() - began
        generation = info["generation"]
        self._counts[generation] += 1
        self._total_ns[generation] += took
        if took > self._longest_ns:
            self._longest_ns = took
        if took >= self._long_ns:
            self._long += 1
            self._pauses.append((began, took, generation, info["collected"]))

    def facts(self) -> GcFacts:
        """Return the totals so far."""
        return GcFacts(
            counts=list(self._counts),
            total_ms=[round(total / 1e6, 3) for total in self._total_ns],
            longest_ms=round(self._longest_ns / 1e6, 3),
            long_pauses=self._long,
            enabled=gc.isenabled(),
            threshold=list(gc.get_threshold()),
        )

    def take_pauses(self) -> list[Pause]:
        """Return the long collections since the last call, oldest first."""
        return [Pause(*self._pauses.popleft()) for _ in range(len(self._pauses))]


_watching: list[GcWatch] = []


def _after_fork() -> None:
    for watch in _watching.copy():
        watch.end()


os.register_at_fork(after_in_child=_after_fork)


def pause_text(pause: Pause) -> str:
    """Return a long collection in words."""
    scope = "full" if pause.generation == _OLDEST else f"generation {pause.generation}"
    return f"{scope} garbage collection, {pause.duration_ns / 1e6:.0f} ms, {pause.collected:,} objects freed"
