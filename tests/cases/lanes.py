"""Several jobs at a time, each on processors of its own."""

import os
import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Job = TypeVar("Job")
Answer = TypeVar("Answer")


def lanes_of(cpus: Iterable[int], lanes: int, each: int) -> list[frozenset[int]]:
    """Return so many groups of processors, `each` in a group, none in two.

    Raises:
        ValueError: there are not so many processors.
    """
    there = sorted(cpus)
    if lanes * each > len(there):
        raise ValueError(f"{lanes} lanes of {each} processors are more than the {len(there)} there are")
    return [frozenset(there[lane * each : (lane + 1) * each]) for lane in range(lanes)]


def in_lanes(
    run: Callable[[Job], Answer], jobs: Iterable[Job], lanes: Sequence[frozenset[int]]
) -> Iterator[Answer]:
    """Give the answers as they come; what a job starts inherits its lane's processors."""
    free: queue.SimpleQueue[frozenset[int]] = queue.SimpleQueue()
    for lane in lanes:
        free.put(lane)

    def start() -> None:
        # Of this thread alone: Linux keeps the set by thread, and a child takes its parent thread's.
        os.sched_setaffinity(0, free.get())

    with ThreadPoolExecutor(len(lanes), initializer=start) as pool:
        for done in as_completed([pool.submit(run, job) for job in jobs]):
            yield done.result()
