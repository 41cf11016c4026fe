"""Ranks over steps: by how much each was later than the median rank, in blocks of steps and bands of ranks.

Ranks are matched by the index of the step, never by time. Pure arithmetic over the ranks' logs; with many
ranks not every step is looked at, so that a question costs the hub some tens of milliseconds at most.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from statistics import fmean, median_low

from perftui.ipc.messages import FLAG_PHASES_UNKNOWN, FLAG_WAIT_UNKNOWN, UNUSUAL_FLAGS
from perftui.ipc.rank_map import BANDS_MAX, RankBand, RankMap, RankMeasure
from perftui.ipc.step_history import BLOCKS_MAX
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.arrivals import own_ms
from perftui.trainer.hub.step_blocks import block_size
from perftui.trainer.hub.step_log import StepLog

LOOKS_MAX = 40_000
"""Steps of all ranks together that one question looks at."""


def rank_map(
    logs: Mapping[int, StepLog],
    first: int,
    last: int | None,
    blocks: int,
    bands: int,
    measure: RankMeasure,
) -> RankMap:
    """Return steps `first` to `last` (None: the newest that all have done) of some ranks, at least one.

    Args:
        logs: by rank; none of them empty.
        first: where the stretch begins; moved into what is kept.
        last: where it ends.
        blocks: at most so many columns.
        bands: at most so many rows.
        measure: what is compared.
    """
    newest = min(log.raw[-1].step for log in logs.values())
    exact_from = max(log.raw[0].step for log in logs.values())
    last = newest if last is None else max(0, min(last, newest))
    first = max(0, min(first, last))
    ranks = sorted(logs)
    size = block_size(first, last, max(1, min(blocks, BLOCKS_MAX, LOOKS_MAX // len(ranks))))
    count = last // size - first // size + 1
    each = max(1, min(size, LOOKS_MAX // (len(ranks) * count)))
    steps = _looked(first, last, size, each, exact_from)
    table = _table(logs, ranks, steps, first // size, size, count, measure)
    return RankMap(
        measure=measure,
        first_step=first,
        last_step=last,
        newest_step=newest,
        exact_from=exact_from,
        block_steps=size,
        looked_steps=each,
        ranks=len(ranks),
        bands=_bands(table, ranks, max(1, min(bands, BANDS_MAX))),
        median_ms=table.median_ms,
    )


class _Table:
    """Sums over the steps of each block that count: excess in ms by rank, and the median rank's step."""

    def __init__(self, ranks: int, count: int) -> None:
        self.steps = [0] * count
        self.median_step_ms = [0.0] * count
        self.excess_ms = [[0.0] * ranks for _ in range(count)]

    @property
    def median_ms(self) -> list[float | None]:
        sums = zip(self.median_step_ms, self.steps, strict=True)
        return [total / steps if steps else None for total, steps in sums]

    def mean_excess_ms(self) -> list[list[float | None]]:
        """Return one row a rank."""
        columns = [
            [total / steps for total in totals] if steps else [None] * len(totals)
            for totals, steps in zip(self.excess_ms, self.steps, strict=True)
        ]
        return [list(row) for row in zip(*columns, strict=True)]


def _looked(first: int, last: int, size: int, each: int, exact_from: int) -> list[int]:
    """Return the steps that are looked at: of each block `each`, evenly spread."""
    begins = range(first // size * size, last + 1, size)
    steps = [begin + at * size // each for begin in begins for at in range(each)]
    return [step for step in steps if max(first, exact_from) <= step <= last]


def _table(
    logs: Mapping[int, StepLog],
    ranks: Sequence[int],
    steps: Sequence[int],
    base: int,
    size: int,
    count: int,
    measure: RankMeasure,
) -> _Table:
    table = _Table(len(ranks), count)
    columns = [_rows(logs[rank].raw, steps) for rank in ranks]
    unusual = UNUSUAL_FLAGS | _UNKNOWN[measure]
    for step, rows in zip(steps, zip(*columns, strict=True), strict=True):
        known = [row for row in rows if row is not None and not row.flags & unusual]
        if len(known) < len(rows):  # compared is only what every rank has
            continue
        values = _values(known, measure)
        middle, place = median_low(values), step // size - base
        table.steps[place] += 1
        table.median_step_ms[place] += median_low(row.wall_ns for row in known) / 1e6
        sums = zip(table.excess_ms[place], values, strict=True)
        table.excess_ms[place] = [total + value - middle for total, value in sums]
    return table


_UNKNOWN: Mapping[RankMeasure, int] = {
    "wait": FLAG_WAIT_UNKNOWN,
    "before": FLAG_PHASES_UNKNOWN,
    "step": 0,
}
"""Flags of steps in which it is not known."""


def _values(rows: Sequence[StepRecord], measure: RankMeasure) -> list[float]:
    """Return what is compared, in ms."""
    if measure == "before":
        return [own_ms(row) for row in rows]
    return [(row.wait_ns if measure == "wait" else row.wall_ns) / 1e6 for row in rows]


def _rows(raw: "deque[StepRecord]", steps: Sequence[int]) -> list[StepRecord | None]:
    """Return the rows of ascending steps; None where one is missing."""
    begin, end = raw[0].step, raw[-1].step
    if end - begin + 1 == len(raw):  # no step was lost: each stands where its number says
        return [raw[step - begin] if begin <= step <= end else None for step in steps]
    rows = list(raw)
    numbers = [row.step for row in rows]
    found = [bisect_left(numbers, step) for step in steps]
    return [
        rows[at] if at < len(rows) and numbers[at] == step else None
        for at, step in zip(found, steps, strict=True)
    ]


def _bands(table: _Table, ranks: Sequence[int], most: int) -> list[RankBand]:
    each = -(-len(ranks) // most)
    medians = table.median_ms
    means = table.mean_excess_ms()
    return [_band(ranks[at : at + each], means[at : at + each], medians) for at in range(0, len(ranks), each)]


def _band(
    ranks: Sequence[int], means: Sequence[Sequence[float | None]], medians: Sequence[float | None]
) -> RankBand:
    excess: list[float | None] = []
    who: list[int] = []
    for column in zip(*means, strict=True):
        known = [(value, rank) for value, rank in zip(column, ranks, strict=True) if value is not None]
        value, rank = max(known) if known else (None, -1)
        excess.append(value)
        who.append(rank)
    step_ms = [value for value in medians if value]
    wholes = [[value for value in row if value is not None] for row in means]
    whole = [(fmean(row), rank) for row, rank in zip(wholes, ranks, strict=True) if row]
    worst, worst_rank = max(whole) if whole else (None, ranks[0])
    return RankBand(
        first_rank=ranks[0],
        last_rank=ranks[-1],
        excess_ms=excess,
        excess_share=[
            None if value is None or not middle else value / middle
            for value, middle in zip(excess, medians, strict=True)
        ],
        rank=who,
        worst_rank=worst_rank,
        mean_share=None if worst is None or not step_ms else worst / fmean(step_ms),
    )
