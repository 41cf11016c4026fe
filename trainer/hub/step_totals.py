"""Sums over steps, and the statistics that follow from them. Pure arithmetic on rows."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from perftui.ipc.messages import FLAG_EPOCH_START, FLAG_PHASES_UNKNOWN, FLAG_WAIT_UNKNOWN
from perftui.ipc.step_record import StepRecord
from perftui.ipc.view import Shares, StepStats

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
    return stats_of_sorted(ordered) if ordered else None


def stats_of_sorted(ordered: list[float]) -> StepStats:
    """Return mean and quantiles in milliseconds of an ascending, non-empty list."""
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

    def add(self, row: StepRecord, sign: int = 1) -> None:
        """Count one step in; with `sign` -1 take one out again."""
        wall_ns = sign * row.wall_ns
        self.steps += sign
        self.wall_ns += wall_ns
        if row.cpu_ns >= 0:
            self.cpu_ns += sign * row.cpu_ns
            self.cpu_wall_ns += wall_ns
        self.optimizer_ns += sign * row.optimizer_ns
        if row.samples >= 0:
            self.samples += sign * row.samples
            self.sampled_wall_ns += wall_ns
        if row.tokens >= 0:
            self.tokens += sign * row.tokens
            self.token_wall_ns += wall_ns
        if not row.flags & FLAG_WAIT_UNKNOWN:
            self.wait_ns += sign * row.wait_ns
            self.wait_wall_ns += wall_ns
            self.wait_steps += sign
            if row.flags & FLAG_EPOCH_START:
                self.epoch_start_wait_ns += sign * row.wait_ns
        if row.h2d_ns >= 0:
            self.h2d_ns += sign * row.h2d_ns
            self.h2d_of_ns += sign * row.forward_ns
        if row.comm_ns >= 0:
            self.comm_ns += sign * row.comm_ns
            self.comm_of_ns += sign * row.backward_ns
        if not row.flags & FLAG_PHASES_UNKNOWN:
            self.backward_ns += sign * row.backward_ns
            self.phases_wall_ns += wall_ns
            if not row.flags & FLAG_WAIT_UNKNOWN:  # else it is not known when the batch was there
                self.forward_ns += sign * row.forward_ns
                self.forward_wall_ns += wall_ns

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
