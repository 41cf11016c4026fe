"""Who contains whom among spans of a thread: by time, as operators, calls and frames nest."""

import numpy as np

from perftui.trainer.profiling.trace_columns import Flags, Integers


def containers(thread: Integers, start: Integers, end: Integers) -> Integers:
    """Return for each span the innermost span of its thread that is open when it starts; -1: none.

    Of spans with the same start the longer is outside, of equal ones the earlier in the columns. An end need
    not lie within the container: times are rounded, and some marks overlap without nesting.
    """
    order = np.lexsort((-end, start, thread))
    starts, threads = start[order].tolist(), thread[order].tolist()
    ends = np.maximum(end, start + 1)[order].tolist()
    found = [-1] * len(starts)
    open_spans: list[int] = []
    current = -1
    for index, begin in enumerate(starts):
        if threads[index] != current:
            current = threads[index]
            open_spans.clear()
        while open_spans and ends[open_spans[-1]] <= begin:
            open_spans.pop()
        if open_spans:
            found[index] = open_spans[-1]
        open_spans.append(index)
    inside = np.array(found, np.int64)
    parent = np.empty_like(inside)
    parent[order] = np.where(inside >= 0, order[np.maximum(inside, 0)], -1)
    return parent


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
