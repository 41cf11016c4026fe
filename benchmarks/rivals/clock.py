"""The only clock of this benchmark: stamps between steps, taken by the loop, whatever tool watches it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from benchmarks.rivals.cells import Cell
from benchmarks.rivals.patched import patched_functions

BLOCK_STEPS = 100


@dataclass(frozen=True)
class Figures:
    """What one loop took, in microseconds a step after the warm-up.

    `cpu` is the training thread's own processor time, `process_cpu` that of all threads of its process.
    The medians are over blocks of 100 steps: they leave out what happens rarely, the means do not.
    """

    cell: str
    steps: int
    warm_up: int
    cpu_us: float
    cpu_block_median_us: float
    process_cpu_us: float
    wall_us: float
    wall_block_median_us: float
    first_step_at_ns: int
    last_step_at_ns: int
    patched: dict[str, str]


class Clock:
    """Counts steps; `tick` belongs at the end of each and costs a tenth of a microsecond.

    `first_step_at_ns` and `last_step_at_ns` are on the machine-wide monotonic clock.
    """

    def __init__(self, cell: Cell, synchronize: Callable[[], None] | None) -> None:
        self._cell = cell
        self._synchronize = synchronize
        self._total = cell.warm_up + cell.steps
        self._block = min(BLOCK_STEPS, max(1, cell.steps // 10))
        self._done = 0
        self._next = 1
        self._first_at = 0
        self._walls: list[int] = []
        self._cpus: list[int] = []
        self._process = 0
        self.figures: Figures | None = None

    def tick(self) -> None:
        """Say that a step is over."""
        self._done += 1
        if self._done == self._next:
            self._mark()

    def _mark(self) -> None:
        done, cell = self._done, self._cell
        if done == 1:
            self._first_at = time.monotonic_ns()
            self._next = cell.warm_up
        elif done == cell.warm_up:
            self._wait_for_device()
            self._process = time.process_time_ns()
            self._stamp()
            self._next = min(done + self._block, self._total)
        elif done < self._total:
            self._stamp()
            self._next = min(done + self._block, self._total)
        else:
            self._finish()

    def _stamp(self) -> None:
        self._walls.append(time.perf_counter_ns())
        self._cpus.append(time.thread_time_ns())

    def _wait_for_device(self) -> None:
        if self._synchronize is not None:
            self._synchronize()

    def _finish(self) -> None:
        cpu, process = time.thread_time_ns(), time.process_time_ns()
        self._wait_for_device()  # its waiting spins, so the thread's time was read before
        wall, steps = time.perf_counter_ns(), self._cell.steps
        last_at = time.monotonic_ns()
        self.figures = Figures(
            cell=self._cell.name,
            steps=steps,
            warm_up=self._cell.warm_up,
            cpu_us=(cpu - self._cpus[0]) / steps / 1e3,
            cpu_block_median_us=self._median(self._cpus),
            process_cpu_us=(process - self._process) / steps / 1e3,
            wall_us=(wall - self._walls[0]) / steps / 1e3,
            wall_block_median_us=self._median(self._walls),
            first_step_at_ns=self._first_at,
            last_step_at_ns=last_at,
            patched=patched_functions(),
        )

    def _median(self, stamps: list[int]) -> float:
        """Return the median over full blocks, in microseconds a step."""
        spans = [after - before for before, after in pairwise(stamps)]
        return median(spans) / self._block / 1e3
