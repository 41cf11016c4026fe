"""Who contains whom among spans of a thread: by time, as operators, calls and frames nest."""

from itertools import pairwise

import numpy as np

from perftui.trainer.profiling.grouping import stable_order
from perftui.trainer.profiling.trace_columns import Flags, Integers


def containers(thread: Integers, start: Integers, end: Integers) -> Integers:
    """Return for each span the innermost span of its thread that is open when it starts; -1: none.

    Of spans with the same start the longer is outside, of equal ones the earlier in the columns. An end need
    not lie within the container: times are rounded, and some marks overlap without nesting.
    """
    order = outer_first(thread, start, end)
    starts, ends = start[order], np.maximum(end[order], start[order] + 1)
    threads = thread[order]
    inside = np.full(len(order), -1, np.int64)
    borders = np.flatnonzero(np.diff(threads, prepend=-1, append=-1)).tolist()
    for low, high in pairwise(borders):
        inside[low:high] = _containers(starts[low:high], ends[low:high])
        inside[low:high][inside[low:high] >= 0] += low
    parent = np.empty_like(inside)
    parent[order] = np.where(inside >= 0, order[np.maximum(inside, 0)], -1)
    return parent


def outer_first(thread: Integers, start: Integers, end: Integers) -> Integers:
    """Return the order by thread, then start, then the longer first; equal ones stay in the columns' order.

    Spans come nearly sorted by start and few start together, so that only those few are sorted by their end.
    """
    order = np.argsort(start, kind="stable")
    order = order[stable_order(thread[order])]
    together = (np.diff(start[order]) == 0) & (np.diff(thread[order]) == 0)
    tied = np.zeros(len(order), np.bool_)
    tied[1:] |= together
    tied[:-1] |= together
    some = order[tied]
    order[tied] = some[np.lexsort((-end[some], start[some], thread[some]))]
    return order


def _containers(starts: Integers, ends: Integers) -> Integers:
    """Return the containers of one thread's sorted spans.

    Where spans nest, all at once: a span's depth is the number of earlier spans that have not ended when it
    starts, and its container is the last one before it that is one level less deep.
    """
    place = np.arange(len(starts))
    depth = place - np.searchsorted(np.sort(ends), starts, side="right")
    found = np.full(len(starts), -1, np.int64)
    by_depth = stable_order(depth)
    borders = np.searchsorted(depth[by_depth], np.arange(int(depth.max()) + 2)).tolist()
    levels = [by_depth[low:high] for low, high in pairwise(borders)]
    for above, own in pairwise(levels):
        if len(above):
            index = np.searchsorted(above, own) - 1
            found[own] = np.where(index >= 0, above[np.maximum(index, 0)], -1)
    nested = (found < 0) | (ends <= ends[np.maximum(found, 0)])
    alone = (depth > 0) & (found < 0)
    return found if nested.all() and not alone.any() else _containers_one_by_one(starts, ends)


def _containers_one_by_one(starts: Integers, ends: Integers) -> Integers:
    found: list[int] = []
    open_spans: list[int] = []
    finish = ends.tolist()
    for index, begin in enumerate(starts.tolist()):
        while open_spans and finish[open_spans[-1]] <= begin:
            open_spans.pop()
        found.append(open_spans[-1] if open_spans else -1)
        open_spans.append(index)
    return np.array(found, np.int64)


def nearest(parent: Integers, wanted: Flags) -> Integers:
    """Return for each span the innermost container that is wanted; -1: none."""
    result = parent.copy()
    while True:
        unwanted = np.flatnonzero((result >= 0) & ~wanted[np.maximum(result, 0)])
        if not len(unwanted):
            return result
        result[unwanted] = parent[result[unwanted]]


def depths(parent: Integers) -> Integers:
    """Return how many containers are around each span."""
    result = np.zeros_like(parent)
    above = parent.copy()
    while True:
        inner = np.flatnonzero(above >= 0)
        if not len(inner):
            return result
        result[inner] += 1
        above[inner] = parent[above[inner]]


def self_times(parent: Integers, start: Integers, end: Integers) -> Integers:
    """Return each span's duration without what it contains, as far as that lies within it."""
    inner = np.flatnonzero(parent >= 0)
    around = parent[inner]
    within = np.maximum(np.minimum(end[inner], end[around]) - start[inner], 0)
    taken = np.bincount(around, weights=within, minlength=len(start)).astype(np.int64)
    own: Integers = end - start - taken
    return np.maximum(own, 0)
