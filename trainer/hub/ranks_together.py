"""All ranks at one glance: how many are in which state, and what they have in the middle. Pure."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from perftui.ipc.view import RankState, RanksTogether, RankView, Shares

_AT_WORK: tuple[RankState, ...] = ("training", "validating", "profiling")


def ranks_together(views: Sequence[RankView]) -> RanksTogether | None:
    """Return how the ranks stand together; None for no ranks."""
    if not views:
        return None
    working = [view for view in views if view.state in _AT_WORK]
    stats = [view.step_ms for view in working if view.step_ms is not None]
    columns: dict[str, list[float | None]] = {
        "now_ms": [view.now_ms for view in working],
        "p50_ms": [each.p50 for each in stats],
        "p99_ms": [each.p99 for each in stats],
        "samples_per_s": [view.samples_per_s for view in working],
        "tokens_per_s": [view.tokens_per_s for view in working],
    }
    for name in Shares.__struct_fields__:
        columns[name] = [getattr(view.shares, name) for view in working]
    known = {name: [value for value in column if value is not None] for name, column in columns.items()}
    return RanksTogether(
        states=dict(Counter(view.state for view in views)),
        medians={name: median(column) for name, column in known.items() if column},
    )
