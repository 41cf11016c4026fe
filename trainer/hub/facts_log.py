"""How the totals among a rank's facts grew: bounded, over the whole run, so that rules can ask for rates.

Points lie at least as far apart as the newest interval says; when there are too many, every second goes and
the interval doubles.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec.structs

from perftui.ipc.facts import RankFacts
from perftui.ipc.loader_facts import LoadingFacts
from perftui.trainer.diagnosis.signals import FactsChange

POINTS_KEPT = 512
_FIRST_INTERVAL_S = 1.0
_LOOKS_FOR_RISE = 3


class FactsPoint(NamedTuple):
    """Totals at one moment; None: not measured."""

    unix: float
    steps: int
    gc_ms: float | None
    compile_s: float | None
    recompiles: int | None
    graph_breaks: int | None
    alloc_retries: int | None
    device_frees: int | None
    allocated_mib: float | None
    reserved_mib: float | None
    limit_hits: int | None = None
    cudagraph_skips: int | None = None
    kept_mib: float | None = None
    loading: LoadingFacts | None = None


class FactsLog:
    """The points of one rank, at most so many."""

    def __init__(self, points_kept: int = POINTS_KEPT) -> None:
        self._points_kept = points_kept
        self.points: list[FactsPoint] = []
        """Oldest first; the last is the newest there is, however close to the one before."""
        self._interval_s = _FIRST_INTERVAL_S

    def add(self, unix: float, steps: int, facts: RankFacts) -> None:
        """Take the facts as they are at a moment (unix seconds), and how many steps were finished."""
        point = point_of(unix, steps, facts)
        if len(self.points) > 1 and self.points[-1].unix - self.points[-2].unix < self._interval_s:
            self.points[-1] = point
        else:
            self.points.append(point)
        if len(self.points) > self._points_kept:
            self._interval_s *= 2
            del self.points[1:-1:2]

    def change(self, unix: float, steps: int, seconds: float | None = None) -> FactsChange | None:
        """Return what was added until now over about the last `seconds`, or since the first point.

        None when there is nothing to compare. What was not told again has not changed.

        Args:
            unix: now.
            steps: finished by now.
            seconds: how far to look back; None: to the beginning.
        """
        if not self.points or unix <= self.points[0].unix:
            return None
        last = self.points[-1]._replace(unix=unix, steps=steps)
        begin = next(
            (point for point in reversed(self.points) if seconds and unix - point.unix >= seconds),
            self.points[0],
        )
        within = [point for point in self.points if point.unix >= begin.unix]
        return FactsChange(
            seconds=last.unix - begin.unix,
            steps=last.steps - begin.steps,
            gc_ms=_grown(begin.gc_ms, last.gc_ms),
            compile_s=_grown(begin.compile_s, last.compile_s),
            recompiles=_grown(begin.recompiles, last.recompiles),
            graph_breaks=_grown(begin.graph_breaks, last.graph_breaks),
            alloc_retries=_grown(begin.alloc_retries, last.alloc_retries),
            device_frees=_grown(begin.device_frees, last.device_frees),
            allocated_mib=_grown(begin.allocated_mib, last.allocated_mib),
            reserved_mib=_grown(begin.reserved_mib, last.reserved_mib),
            limit_hits=_grown(begin.limit_hits, last.limit_hits),
            cudagraph_skips=_grown(begin.cudagraph_skips, last.cudagraph_skips),
            kept_mib=_grown(begin.kept_mib, last.kept_mib),
            kept_rise=rise_of([point.kept_mib for point in within]),
            allocated_rise=rise_of([point.allocated_mib for point in within]),
            loading=_made(begin.loading, last.loading),
        )


def point_of(unix: float, steps: int, facts: RankFacts) -> FactsPoint:
    """Return the totals among the facts."""
    compiled, allocator = facts.compile, facts.allocator
    return FactsPoint(
        unix=unix,
        steps=steps,
        gc_ms=None if facts.gc is None else sum(facts.gc.total_ms),
        compile_s=None if compiled is None else compiled.compile_s,
        recompiles=None if compiled is None else compiled.recompiles,
        graph_breaks=None if compiled is None else compiled.graph_breaks,
        alloc_retries=None if allocator is None else allocator.alloc_retries,
        device_frees=None if allocator is None else allocator.device_frees,
        allocated_mib=None if allocator is None else allocator.allocated_mib,
        reserved_mib=None if allocator is None else allocator.reserved_mib,
        limit_hits=None if compiled is None else compiled.limit_hits,
        cudagraph_skips=None if compiled is None else compiled.cudagraph_skips,
        kept_mib=None if facts.process is None else facts.process.rss_mib - (facts.process.file_mib or 0.0),
        loading=facts.loading,
    )


def _grown(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None else now - before


def _made(before: LoadingFacts | None, now: LoadingFacts | None) -> LoadingFacts | None:
    """Return the batches that were made in between; None: not known, or of another loader."""
    if before is None or now is None or before.loader != now.loader or now.batches < before.batches:
        return None
    return msgspec.structs.replace(
        now,
        batches=now.batches - before.batches,
        fetch_s=now.fetch_s - before.fetch_s,
        collate_s=now.collate_s - before.collate_s,
    )


def rise_of(values: Sequence[float | None]) -> float | None:
    """Return the share of looks that found more than ever before; None for fewer than three looks."""
    known = [value for value in values if value is not None]
    if len(known) < _LOOKS_FOR_RISE:
        return None
    most, higher = known[0], 0
    for value in known[1:]:
        higher += value > most
        most = max(most, value)
    return higher / (len(known) - 1)
