"""Sets of time as disjoint, sorted, half-open intervals, in nanoseconds."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from perftui.trainer.profiling.trace_columns import Flags, Integers


@dataclass(frozen=True)
class Intervals:
    """A set of time."""

    start: Integers
    end: Integers

    @staticmethod
    def union(start: Integers, end: Integers) -> "Intervals":
        """Return the union of spans in any order; empty ones vanish."""
        lasting = end > start
        start, end = start[lasting], end[lasting]
        if not len(start):
            return Intervals(start, end)
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order])
        begins = np.concatenate(([True], start[1:] > reach[:-1]))
        ends = np.concatenate((begins[1:], [True]))
        return Intervals(start[begins], reach[ends])

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def length(self) -> int:
        """How long it is in all."""
        return int((self.end - self.start).sum())

    @cached_property
    def _before(self) -> Integers:
        """The length of what lies before each interval."""
        return np.concatenate(([0], np.cumsum(self.end - self.start)))

    def until(self, time: Integers) -> Integers:
        """Return how much of the set lies before each time."""
        index = np.searchsorted(self.start, time, side="right")
        if not len(self.start):
            return np.zeros_like(time)
        last = np.maximum(index - 1, 0)
        within = np.clip(time - self.start[last], 0, self.end[last] - self.start[last])
        return np.where(index > 0, self._before[last] + within, 0).astype(np.int64)

    def covered(self, start: Integers, end: Integers) -> Integers:
        """Return how much of each span the set covers."""
        covered: Integers = self.until(np.maximum(start, end)) - self.until(start)
        return np.maximum(covered, 0)

    def contains(self, time: Integers) -> Flags:
        """Return whether the set holds each time."""
        index = np.searchsorted(self.start, time, side="right") - 1
        if not len(self.start):
            return np.zeros(len(time), np.bool_)
        return (index >= 0) & (time < self.end[np.maximum(index, 0)])

    def clipped(self, low: int, high: int) -> "Intervals":
        """Return what of it lies in [low, high)."""
        start, end = np.clip(self.start, low, high), np.clip(self.end, low, high)
        lasting = end > start
        return Intervals(start[lasting], end[lasting])

    def gaps(self, low: int, high: int) -> "Intervals":
        """Return what of [low, high) it leaves out."""
        inside = self.clipped(low, high)
        start = np.concatenate(([low], inside.end)).astype(np.int64)
        end = np.concatenate((inside.start, [high])).astype(np.int64)
        lasting = end > start
        return Intervals(start[lasting], end[lasting])

    def __or__(self, other: "Intervals") -> "Intervals":
        return Intervals.union(
            np.concatenate((self.start, other.start)), np.concatenate((self.end, other.end))
        )

    def __and__(self, other: "Intervals") -> "Intervals":
        if not len(self) or not len(other):
            return Intervals(self.start[:0], self.end[:0])
        low, high = int(self.start[0]), int(self.end[-1])
        return self - (Intervals.gaps(other, low, high))

    def __sub__(self, other: "Intervals") -> "Intervals":
        if not len(self) or not len(other):
            return self
        low, high = int(self.start[0]), int(self.end[-1])
        outside = other | self.gaps(low, high)
        return outside.gaps(low, high)


def selected(start: Integers, end: Integers, low: int, high: int) -> Intervals:
    """Return the union of spans within [low, high)."""
    return Intervals.union(np.clip(start, low, high), np.clip(end, low, high))
