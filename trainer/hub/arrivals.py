"""Who comes last to the exchange of gradients, step by step. Pure arithmetic on rows of all ranks.

Ranks that exchange gradients keep step, so the lengths of their steps say nothing. What a rank did before the
exchange is its step without its backward, in which it waits for the others, and without the optimizer's step
that follows. Where the wait itself was looked at, whoever waited least has come last, and that shortest wait
is what the exchange takes by itself.
"""

from collections.abc import Mapping, Sequence
from statistics import StatisticsError, correlation, fmean, stdev

from perftui.ipc.messages import UNUSUAL_FLAGS
from perftui.ipc.step_record import StepRecord
from perftui.trainer.diagnosis.signals import Arrival, Arrivals

_LEAST_FOR_MEMORY = 20


def arrivals_of(rows: Mapping[int, Sequence[StepRecord]]) -> Arrivals | None:
    """Return how the ranks stand; None where fewer than two have a step in common.

    Args:
        rows: by rank, its newest steps; matched by their index.
    """
    if len(rows) < 2:
        return None
    by_step = {rank: {row.step: row for row in each} for rank, each in rows.items()}
    shared = sorted(set.intersection(*(set(steps) for steps in by_step.values())))
    ranks = sorted(by_step)
    table = [[by_step[rank][at] for rank in ranks] for at in shared]
    table = [steps for steps in table if not any(step.flags & UNUSUAL_FLAGS for step in steps)]
    if not table:
        return None
    own = [[own_ms(step) for step in steps] for steps in table]
    cpu = [[s.cpu_ns / 1e6 for s in steps] for steps in table if all(s.cpu_ns >= 0 for s in steps)]
    waits = [[s.comm_ns / 1e6 for s in steps] for steps in table if all(s.comm_ns >= 0 for s in steps)]
    firsts = [min(steps) for steps in own]
    lasts = [steps.index(max(steps)) for steps in own]
    leasts = [steps.index(min(steps)) for steps in waits]
    seen = [[s.comm_ns / 1e6 for s in by_step[r].values() if s.comm_ns >= 0] for r in ranks]
    return Arrivals(
        steps=len(table),
        ranks=tuple(
            Arrival(
                rank=rank,
                late_ms=fmean(steps[at] - first for steps, first in zip(own, firsts, strict=True)),
                last_share=lasts.count(at) / len(table),
                looks=len(seen[at]),
                wait_error_ms=stdev(seen[at]) / len(seen[at]) ** 0.5 if len(seen[at]) > 1 else None,
                least_share=leasts.count(at) / len(leasts) if leasts else None,
            )
            for at, rank in enumerate(ranks)
        ),
        lost_ms=fmean(_beyond_mean(own)),
        lost_cpu_ms=fmean(_beyond_mean(cpu)) if cpu else None,
        most_cpu_share=_most_often(cpu) if cpu else None,
        cpu_ms=fmean(map(fmean, cpu)) if cpu else None,
        cpu_memory=_memory(cpu),
        uneven=_uneven(table),
        looked=len(waits),
        exchange_ms=fmean(map(min, waits)) if waits else None,
    )


def own_ms(row: StepRecord) -> float:
    """Return what a rank did before the exchange."""
    return (row.wall_ns - row.backward_ns - row.optimizer_ns) / 1e6


def _beyond_mean(table: Sequence[Sequence[float]]) -> list[float]:
    """Return for each step by how much the largest figure exceeds the mean of all."""
    return [max(steps) - fmean(steps) for steps in table]


def _most_often(table: Sequence[Sequence[float]]) -> float:
    """Return the share of steps in which the most frequent place of the largest value holds it."""
    places = [steps.index(max(steps)) for steps in table]
    return max(places.count(place) for place in set(places)) / len(places)


def _memory(table: Sequence[Sequence[float]]) -> float | None:
    """Return the correlation of each rank's lead over the mean with that of the step before."""
    if len(table) < _LEAST_FOR_MEMORY:
        return None
    means = [fmean(steps) for steps in table]
    leads = [
        [steps[at] - mean for steps, mean in zip(table, means, strict=True)] for at in range(len(table[0]))
    ]
    try:
        return fmean(correlation(lead[1:], lead[:-1]) for lead in leads)
    except StatisticsError:  # all alike
        return None


def _uneven(table: Sequence[Sequence[StepRecord]]) -> float | None:
    for sizes in (
        [[s.tokens for s in steps] for steps in table],
        [[s.samples for s in steps] for steps in table],
    ):
        known = [[float(size) for size in each] for each in sizes if min(each) >= 0 and max(each) > 0]
        if len(known) == len(sizes):
            return fmean((max(each) - fmean(each)) / fmean(each) for each in known)
    return None
