"""Ranks over steps: by how much each was later than the median rank, in blocks of steps and bands of ranks.

Ranks are matched by the index of the step, never by time. Pure arithmetic over the ranks' logs; with many
ranks not every step is looked at, so that a question costs the hub some tens of milliseconds at most.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from statistics import fmean, median

from perftui.ipc.messages import FLAG_PHASES_UNKNOWN, UNUSUAL_FLAGS
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
    size = block_size(first, last, max(1, min(blocks, BLOCKS_MAX)))
    count = last // size - first // size + 1
    ranks = sorted(logs)
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
    """Excess in ms by rank and block, and the median rank's step."""

    def __init__(self, ranks: int, count: int) -> None:
        self.excess: list[list[list[float]]] = [[[] for _ in range(count)] for _ in range(ranks)]
        self.walls: list[list[float]] = [[] for _ in range(count)]

    @property
    def median_ms(self) -> list[float | None]:
        return [fmean(walls) if walls else None for walls in self.walls]


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
    unusual = UNUSUAL_FLAGS | (FLAG_PHASES_UNKNOWN if measure == "before" else 0)
    for at, step in enumerate(steps):
        rows = [column[at] for column in columns]
        known = [row for row in rows if row is not None and not row.flags & unusual]
        if len(known) < len(rows):  # compared is only what every rank has
            continue
        values = [own_ms(row) if measure == "before" else row.wall_ns / 1e6 for row in known]
        middle, place = median(values), step // size - base
        table.walls[place].append(median(row.wall_ns for row in known) / 1e6)
        for cells, value in zip(table.excess, values, strict=True):
            cells[place].append(value - middle)
    return table


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
    means = [[fmean(cell) if cell else None for cell in row] for row in table.excess]
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
