"""Bounded step history of one rank: the newest steps raw, the older ones thinned, the whole run in sums.

Apart from the rank's state because it is pure arithmetic on columns: no clock, no messages.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from perftui.ipc.messages import FLAG_EPOCH_START, FLAG_PHASES_UNKNOWN, FLAG_WAIT_UNKNOWN, UNUSUAL_FLAGS
from perftui.ipc.step_record import StepRecord
from perftui.ipc.view import Shares, StepStats
from perftui.trainer.hub.epoch_waits import EPOCHS_KEPT, EpochWaits

RAW_STEPS = 4096
WARM_STEPS = 10
"""The first steps never count: caches, algorithm search, worker start. Fewer while the run is very short."""
_THINNED_POINTS = 1024
_QUANTILE_POINTS = 8192
_KNUTH_MULTIPLIER = 2654435761
_MASK = 0xFFFFFFFF
_TOKENS = StepRecord._fields.index("tokens")


class WindowFigures(NamedTuple):
    """Statistics of a set of steps."""

    steps: int
    step_ms: StepStats
    shares: Shares
    cpu_share: float | None
    steps_per_s: float
    samples_per_s: float | None
    coverage: float
    """Share of the steps whose wait was measured."""
    epoch_start_wait: float
    """Share of the wall time that is wait on steps that begin an epoch."""
    tokens_per_s: float | None = None


def quantile(ordered: list[float], q: float) -> float:
    """Return the q-quantile of an ascending, non-empty list by linear interpolation."""
    position = q * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def stats_of(walls_ms: Iterable[float]) -> StepStats | None:
    """Return mean and quantiles in milliseconds; None for no steps."""
    ordered = sorted(walls_ms)
    if not ordered:
        return None
    return StepStats(
        mean=sum(ordered) / len(ordered),
        p50=quantile(ordered, 0.5),
        p90=quantile(ordered, 0.9),
        p99=quantile(ordered, 0.99),
    )


class Totals:
    """Sums over steps, from which shares and rates follow."""

    def __init__(self) -> None:
        self.steps = 0
        self.wall_ns = 0
        self.cpu_ns = 0
        self.cpu_wall_ns = 0
        self.samples = 0
        self.sampled_wall_ns = 0
        self.tokens = 0
        self.token_wall_ns = 0
        self.wait_ns = 0
        self.wait_wall_ns = 0
        self.wait_steps = 0
        self.epoch_start_wait_ns = 0
        self.phases_wall_ns = 0
        self.forward_wall_ns = 0
        self.forward_ns = 0
        self.backward_ns = 0
        self.optimizer_ns = 0
        self.h2d_ns = 0
        self.h2d_of_ns = 0
        self.comm_ns = 0
        self.comm_of_ns = 0

    def add(self, row: StepRecord) -> None:
        """Count one step in."""
        self.steps += 1
        self.wall_ns += row.wall_ns
        if row.cpu_ns >= 0:
            self.cpu_ns += row.cpu_ns
            self.cpu_wall_ns += row.wall_ns
        self.optimizer_ns += row.optimizer_ns
        if row.samples >= 0:
            self.samples += row.samples
            self.sampled_wall_ns += row.wall_ns
        if row.tokens >= 0:
            self.tokens += row.tokens
            self.token_wall_ns += row.wall_ns
        if not row.flags & FLAG_WAIT_UNKNOWN:
            self.wait_ns += row.wait_ns
            self.wait_wall_ns += row.wall_ns
            self.wait_steps += 1
            if row.flags & FLAG_EPOCH_START:
                self.epoch_start_wait_ns += row.wait_ns
        if row.h2d_ns >= 0:
            self.h2d_ns += row.h2d_ns
            self.h2d_of_ns += row.forward_ns
        if row.comm_ns >= 0:
            self.comm_ns += row.comm_ns
            self.comm_of_ns += row.backward_ns
        if not row.flags & FLAG_PHASES_UNKNOWN:
            self.backward_ns += row.backward_ns
            self.phases_wall_ns += row.wall_ns
            if not row.flags & FLAG_WAIT_UNKNOWN:  # else it is not known when the batch was there
                self.forward_ns += row.forward_ns
                self.forward_wall_ns += row.wall_ns

    def add_plain(self, rows: Sequence[StepRecord]) -> None:
        """Count steps in that have no flag, column by column: the same sums, several times faster."""
        columns = list(zip(*rows, strict=True))
        _, _, wall, wait, forward, backward, optimizer, cpu, samples, *_ = columns  # none was sampled
        wall_ns = sum(wall)
        self.steps += len(rows)
        self.wall_ns += wall_ns
        known = [(ns, of) for ns, of in zip(cpu, wall, strict=True) if ns >= 0]
        self.cpu_ns += sum(ns for ns, _ in known)
        self.cpu_wall_ns += sum(of for _, of in known)
        self.optimizer_ns += sum(optimizer)
        if min(samples) >= 0:
            self.samples += sum(samples)
            self.sampled_wall_ns += wall_ns
        else:
            self.samples += sum(count for count in samples if count >= 0)
            self.sampled_wall_ns += sum(ns for ns, count in zip(wall, samples, strict=True) if count >= 0)
        tokens = columns[_TOKENS]
        if max(tokens) >= 0:
            self.tokens += sum(count for count in tokens if count >= 0)
            self.token_wall_ns += sum(ns for ns, count in zip(wall, tokens, strict=True) if count >= 0)
        self.wait_ns += sum(wait)
        self.wait_wall_ns += wall_ns
        self.wait_steps += len(rows)
        self.forward_ns += sum(forward)
        self.forward_wall_ns += wall_ns
        self.backward_ns += sum(backward)
        self.phases_wall_ns += wall_ns

    def shares(self) -> Shares:
        """Return the parts of the host's wall time; what was not measured is None, the rest sums to 1."""
        if not self.wall_ns:
            return Shares()
        wall = self.wall_ns
        wait = self.wait_ns / wall if self.wait_steps else None
        forward = self.forward_ns / wall if self.forward_wall_ns else None
        backward = self.backward_ns / wall if self.phases_wall_ns else None
        forward, h2d = _split(forward, self.h2d_ns, self.h2d_of_ns)
        backward, comm = _split(backward, self.comm_ns, self.comm_of_ns)
        optimizer = self.optimizer_ns / wall if self.optimizer_ns else None  # none was seen
        parts = (wait, h2d, forward, backward, comm, optimizer)
        measured = sum(part for part in parts if part is not None)
        return Shares(
            loader_wait=wait,
            h2d=h2d,
            forward=forward,
            backward=backward,
            comm_exposed=comm,
            optimizer=optimizer,
            other=max(0.0, 1.0 - measured),
        )

    def figures(self, step_ms: StepStats) -> WindowFigures:
        """Return the statistics; `step_ms` comes from whoever kept the single steps."""
        seconds = self.wall_ns / 1e9
        return WindowFigures(
            steps=self.steps,
            step_ms=step_ms,
            shares=self.shares(),
            cpu_share=self.cpu_ns / self.cpu_wall_ns if self.cpu_wall_ns else None,
            steps_per_s=self.steps / seconds if seconds else 0.0,
            samples_per_s=self.samples / (self.sampled_wall_ns / 1e9) if self.sampled_wall_ns else None,
            coverage=self.wait_steps / self.steps if self.steps else 0.0,
            epoch_start_wait=self.epoch_start_wait_ns / self.wall_ns if self.wall_ns else 0.0,
            tokens_per_s=self.tokens / (self.token_wall_ns / 1e9) if self.token_wall_ns else None,
        )


def _split(share: float | None, part_ns: int, of_ns: int) -> tuple[float | None, float | None]:
    """Take a part out of a phase's share, as it was in the steps that were looked into; None: in none."""
    if share is None or not of_ns:
        return share, None
    part = share * min(1.0, part_ns / of_ns)
    return share - part, part


def figures_of(rows: Iterable[StepRecord]) -> WindowFigures | None:
    """Return the statistics of some steps; None when there are none."""
    totals = Totals()
    walls: list[float] = []
    for row in rows:
        totals.add(row)
        walls.append(row.wall_ns / 1e6)
    step_ms = stats_of(walls)
    return totals.figures(step_ms) if step_ms else None


class Thinned:
    """A series of any length in at most 1,024 points, each the mean of `stride` steps."""

    def __init__(self) -> None:
        self.stride = 1
        self.wall_ms: list[float] = []
        self.wait_ms: list[float] = []
        self.flags: list[int] = []
        self.end_ns: list[int] = []
        """When the last of each point's steps ended, on the rank's clock."""
        self._pending: list[StepRecord] = []

    def extend(self, rows: Sequence[StepRecord]) -> None:
        """Append steps."""
        at = 0
        while at < len(rows):
            room = self.stride - len(self._pending)
            self._pending += rows[at : at + room]
            at += room
            self._close_point()

    def _close_point(self) -> None:
        if len(self._pending) < self.stride:
            return
        count = len(self._pending)
        self.wall_ms.append(sum(r.wall_ns for r in self._pending) / count / 1e6)
        self.wait_ms.append(sum(r.wait_ns for r in self._pending) / count / 1e6)
        flags = 0
        for pending in self._pending:
            flags |= pending.flags
        self.flags.append(flags)
        self.end_ns.append(self._pending[-1].end_ns)
        self._pending.clear()
        if len(self.wall_ms) >= _THINNED_POINTS:
            self._halve()

    def _halve(self) -> None:
        self.stride *= 2
        self.wall_ms = [(a + b) / 2 for a, b in zip(self.wall_ms[::2], self.wall_ms[1::2], strict=True)]
        self.wait_ms = [(a + b) / 2 for a, b in zip(self.wait_ms[::2], self.wait_ms[1::2], strict=True)]
        self.flags = [a | b for a, b in zip(self.flags[::2], self.flags[1::2], strict=True)]
        self.end_ns = self.end_ns[1::2]


class StepLog:
    """The steps of one rank."""

    def __init__(self) -> None:
        self.raw: deque[StepRecord] = deque(maxlen=RAW_STEPS)
        self.thinned = Thinned()
        self._warm: list[StepRecord] = []
        self._totals = Totals()
        self._walls: list[tuple[int, float]] = []
        self._walls_below = _MASK
        self.epoch_waits = EpochWaits()

    def __len__(self) -> int:
        return self.raw[-1].step + 1 if self.raw else 0

    def add(self, row: StepRecord) -> None:
        """Append one step."""
        self.extend([row])

    def extend(self, rows: Sequence[StepRecord]) -> None:
        """Append steps, oldest first."""
        self.raw.extend(rows)
        self.thinned.extend(rows)
        if rows and rows[0].step < WARM_STEPS:
            self._warm += [row for row in rows if row.step < WARM_STEPS]
            rows = [row for row in rows if row.step >= WARM_STEPS]
        if rows and rows[0].epoch < EPOCHS_KEPT:
            self.epoch_waits.add(rows)
        if rows and not any(row.flags for row in rows):
            self._totals.add_plain(rows)
            self._sample_walls(rows)
            return
        for row in rows:
            if not row.flags & UNUSUAL_FLAGS:
                self._totals.add(row)
                self._sample_walls([row])

    @property
    def mean_wall_ns(self) -> float | None:
        """Mean wall time of a usual step over the whole run; None in the warm-up."""
        return self._totals.wall_ns / self._totals.steps if self._totals.steps else None

    @property
    def warm_end_ns(self) -> int | None:
        """When the warm-up ended, on the rank's clock; None before, or where its steps were lost."""
        return self._warm[-1].end_ns if self._warm and self._warm[-1].step == WARM_STEPS - 1 else None

    def _sample_walls(self, rows: Sequence[StepRecord]) -> None:
        # picked by a hash of the step: a fixed stride would alias with stalls that come every n-th step
        below = self._walls_below
        self._walls += [
            (mixed, row.wall_ns / 1e6)
            for row in rows
            if (mixed := (row.step * _KNUTH_MULTIPLIER) & _MASK) <= below
        ]
        while len(self._walls) > _QUANTILE_POINTS:
            self._walls_below //= 2
            self._walls = [point for point in self._walls if point[0] <= self._walls_below]

    def since(self, index: int) -> list[StepRecord]:
        """Return the raw steps from `index` on, as far back as they are kept, oldest first."""
        rows = list(takewhile(lambda row: row.step >= index, reversed(self.raw)))
        rows.reverse()
        return rows

    def window(self, steps: int) -> WindowFigures | None:
        """Return the statistics of the last `steps` usual steps, warm-up left out."""
        warm = min(WARM_STEPS, len(self) // 3)
        usual: list[StepRecord] = []
        for row in reversed(self.raw):
            if row.step < warm or len(usual) == steps:
                break
            if not row.flags & UNUSUAL_FLAGS:
                usual.append(row)
        return figures_of(usual)

    def whole(self) -> WindowFigures | None:
        """Return the statistics of the whole run, warm-up and unusual steps left out.

        A run of fewer than three times the warm-up is judged on its last two thirds.
        """
        if len(self) < 3 * WARM_STEPS:
            warm = len(self) // 3
            return figures_of(r for r in self.raw if r.step >= warm and not r.flags & UNUSUAL_FLAGS)
        sampled = stats_of(wall_ms for _, wall_ms in self._walls)
        if sampled is None:
            return None
        mean = self._totals.wall_ns / self._totals.steps / 1e6
        return self._totals.figures(StepStats(mean=mean, p50=sampled.p50, p90=sampled.p90, p99=sampled.p99))
