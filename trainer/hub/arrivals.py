"""Who comes last to the exchange of gradients, step by step. Pure arithmetic on rows of all ranks.

Ranks that exchange gradients keep step, so the lengths of their steps say nothing. What a rank did before the
exchange is its step without its backward, in which it waits for the others, and without the optimizer's step
that follows.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean

from perftui.ipc.messages import UNUSUAL_FLAGS
from perftui.ipc.step_record import StepRecord
from perftui.trainer.diagnosis.signals import Arrival, Arrivals


def arrivals_of(rows: Mapping[int, Sequence[StepRecord]]) -> Arrivals | None:
    """Return how the ranks stand; None where fewer than two have a step in common.

    Args:
        rows: by rank, its newest steps; matched by their index.
    """
    if len(rows) < 2:
        return None
    by_step = {rank: {row.step: row for row in each} for rank, each in rows.items()}
    shared = sorted(set.intersection(*(set(steps) for steps in by_step.values())))
    usual = [at for at in shared if not any(steps[at].flags & UNUSUAL_FLAGS for steps in by_step.values())]
    if not usual:
        return None
    own = {rank: [_own_ms(steps[at]) for at in usual] for rank, steps in by_step.items()}
    ranks = sorted(own)
    lasts = [max(ranks, key=lambda rank: (own[rank][at], -rank)) for at in range(len(usual))]
    quickest = [min(own[rank][at] for rank in ranks) for at in range(len(usual))]
    lost = [
        max(own[rank][at] for rank in ranks) - fmean(own[rank][at] for rank in ranks)
        for at in range(len(usual))
    ]
    timed = [at for at in usual if all(steps[at].cpu_ns >= 0 for steps in by_step.values())]
    cpu = [[steps[at].cpu_ns / 1e6 for steps in by_step.values()] for at in timed]
    return Arrivals(
        steps=len(usual),
        ranks=tuple(
            Arrival(
                rank=rank,
                late_ms=fmean(mine - first for mine, first in zip(own[rank], quickest, strict=True)),
                last_share=lasts.count(rank) / len(usual),
            )
            for rank in ranks
        ),
        lost_ms=fmean(lost),
        lost_cpu_ms=fmean(max(each) - fmean(each) for each in cpu) if cpu else None,
        most_cpu_share=_most_often(cpu) if cpu else None,
    )


def _own_ms(row: StepRecord) -> float:
    return (row.wall_ns - row.backward_ns - row.optimizer_ns) / 1e6


def _most_often(rows: Sequence[Sequence[float]]) -> float:
    """Return the share of rows in which the most frequent place of the largest value holds it."""
    places = [row.index(max(row)) for row in rows]
    return max(places.count(place) for place in set(places)) / len(places)
