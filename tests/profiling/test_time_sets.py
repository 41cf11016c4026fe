"""Sets of time, and who contains whom, against what a reader would write with loops."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perftui.trainer.profiling.intervals import Intervals
from perftui.trainer.profiling.nesting import containers, depths, nearest, self_times

Spans = list[tuple[int, int]]
spans = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda one: (one[0], sum(one))), max_size=9
)
threads = st.lists(st.integers(0, 2), min_size=9, max_size=9)


def of(pairs: Spans) -> Intervals:
    return Intervals.union(
        np.array([start for start, _ in pairs], np.int64), np.array([end for _, end in pairs], np.int64)
    )


def points(when: Intervals) -> set[int]:
    pairs = list(zip(when.start.tolist(), when.end.tolist(), strict=True))
    assert all(start < end for start, end in pairs)
    assert all(before[1] < after[0] for before, after in pairwise(pairs)), "disjoint"
    return {point for start, end in pairs for point in range(start, end)}


@given(spans, spans, st.integers(0, 70), st.integers(0, 70))
def test_algebra(first: Spans, second: Spans, low: int, high: int) -> None:
    one, other = of(first), of(second)
    mine = {point for start, end in first for point in range(start, end)}
    theirs = {point for start, end in second for point in range(start, end)}
    assert points(one) == mine
    assert one.length == len(mine)
    assert points(one | other) == mine | theirs
    assert points(one & other) == mine & theirs
    assert points(one - other) == mine - theirs
    assert points(one.gaps(5, 50)) == set(range(5, 50)) - mine
    assert points(one.clipped(5, 50)) == set(range(5, 50)) & mine
    assert one.covered(np.array([low]), np.array([high])).tolist() == [len(mine & set(range(low, high)))]
    assert one.contains(np.array([low])).tolist() == [low in mine]


@given(spans, threads)
def test_containers(pairs: Spans, owners: list[int]) -> None:
    thread = np.array(owners[: len(pairs)], np.int64)
    start, end = (np.array([one[side] for one in pairs], np.int64) for side in (0, 1))
    parent = containers(thread, start, end)
    order = sorted(range(len(pairs)), key=lambda at: (owners[at], pairs[at][0], -pairs[at][1], at))
    for place, index in enumerate(order):
        opened = [
            other
            for other in order[:place]
            if owners[other] == owners[index] and max(pairs[other][1], pairs[other][0] + 1) > pairs[index][0]
        ]
        assert parent[index] == (opened[-1] if opened else -1)
    depth = depths(parent)
    assert all(depth[at] == (0 if parent[at] < 0 else depth[parent[at]] + 1) for at in range(len(pairs)))
    even = np.arange(len(pairs)) % 2 == 0
    for at, found in enumerate(nearest(parent, even).tolist()):
        above = int(parent[at])
        while above >= 0 and not even[above]:
            above = int(parent[above])
        assert found == above


def test_self_times_stay_above_zero() -> None:
    """Children that outlast their parent count as far as they lie within it."""
    start, end = np.array([0, 2, 8]), np.array([10, 5, 14])
    parent = containers(np.zeros(3, np.int64), start, end)
    assert self_times(parent, start, end).tolist() == [5, 3, 6]
