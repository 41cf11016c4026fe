"""A stretch of a rank's steps in blocks, with quantiles and a distribution: what a history picture shows.

Pure arithmetic over one `StepLog`. Steps that are still kept one by one give quantiles; what is older was
thinned to means, and gives means.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from perftui.ipc.messages import FLAG_WAIT_UNKNOWN
from perftui.ipc.step_history import BINS, BLOCKS_MAX, StepHistory
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.step_log import StepLog, quantile, stats_of

_TAIL = 1.5
"""The last bin ends at this many p99: what towers above is counted, and does not flatten the rest."""


@dataclass
class _Block:
    walls: list[float] = field(default_factory=list[float])
    waits: list[float] = field(default_factory=list[float])


def step_history(log: StepLog, rank: int, first: int, last: int | None, blocks: int) -> StepHistory | None:
    """Return steps `first` to `last` (None: the newest) in at most `blocks` blocks; None: no step is known.

    A stretch that lies outside of what has been run is moved into it.
    """
    if not log.raw:
        return None
    newest = log.raw[-1].step
    last = newest if last is None else max(0, min(last, newest))
    first = max(0, min(first, last))
    size = block_size(first, last, max(1, min(blocks, BLOCKS_MAX)))
    exact_from = log.raw[0].step
    singles = [row for row in log.since(max(first, exact_from)) if row.step <= last]
    base, count = first // size, last // size - first // size + 1
    exact = [_Block() for _ in range(count)]
    for row in singles:
        block = exact[row.step // size - base]
        block.walls.append(row.wall_ns / 1e6)
        if not row.flags & FLAG_WAIT_UNKNOWN:
            block.waits.append(row.wait_ns / 1e6)
    older = _older(log, first, min(last, exact_from - 1), size, count)
    joined = [
        _Block(new.walls + old.walls, new.waits + old.waits) for new, old in zip(exact, older, strict=True)
    ]
    return _with_bins(
        singles,
        StepHistory(
            rank=rank,
            first_step=first,
            last_step=last,
            newest_step=newest,
            block_steps=size,
            exact_from=exact_from,
            p50_ms=[None if o.walls else _at(e.walls, 0.5) for e, o in zip(exact, older, strict=True)],
            p99_ms=[None if o.walls else _at(e.walls, 0.99) for e, o in zip(exact, older, strict=True)],
            mean_ms=[_mean(block.walls) for block in joined],
            slowest_ms=[max(block.walls, default=None) for block in joined],
            wait_ms=[_mean(block.waits) for block in joined],
        ),
    )


def block_size(first: int, last: int, blocks: int) -> int:
    """Return the least size of aligned blocks with which `first` to `last` are no more than `blocks`."""
    size = max(1, -(-(last - first + 1) // blocks))
    while last // size - first // size + 1 > blocks:
        size += 1
    return size


def _older(log: StepLog, first: int, last: int, size: int, count: int) -> list[_Block]:
    """Return what the thinned history knows of steps `first` to `last`; a point stands at its first step."""
    found = [_Block() for _ in range(count)]
    thinned, base = log.thinned, first // size
    if last < first:
        return found
    steps, walls, waits, flags = thinned.first_steps, thinned.wall_ms, thinned.wait_ms, thinned.flags
    for point in thinned.over(first, last):
        place = max(first, steps[point]) // size - base
        found[place].walls.append(walls[point])
        if not flags[point] & FLAG_WAIT_UNKNOWN:
            found[place].waits.append(waits[point])
    return found


def _at(walls: list[float], q: float) -> float | None:
    return quantile(sorted(walls), q) if walls else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _with_bins(rows: Sequence[StepRecord], history: StepHistory) -> StepHistory:
    """Return the history with statistics and the distribution of the single steps."""
    walls = [row.wall_ns / 1e6 for row in rows]
    stats = stats_of(walls)
    if stats is None:
        return history
    low, high = min(walls), max(walls)
    top = max(low, min(high, _TAIL * stats.p99))
    width = (top - low) / BINS or 1.0
    bins = [0] * BINS
    for wall in walls:
        if wall <= top:
            bins[min(BINS - 1, int((wall - low) / width))] += 1
    return replace(
        history,
        stats=stats,
        stats_steps=len(walls),
        bins=bins,
        bins_from_ms=low,
        bins_to_ms=low + width * BINS,
        above=sum(wall > top for wall in walls),
    )
