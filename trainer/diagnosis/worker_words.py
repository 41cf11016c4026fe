"""What a rank's loader workers do, in words that fit their number. Pure."""

from perftui.trainer.diagnosis.signals import RankSignals

_ALL = 0.995
"""Of the time: less is shown as a share."""


def of_workers(rank: RankSignals, several_do: str, one_does: str) -> str:
    """Return what they do: "they wait", and of a single one "it waits"."""
    return f"it {one_does}" if _has_one(rank) else f"they {several_do}"


def of_their_time(rank: RankSignals, share: float) -> str:
    """Return a share of the time that they work on a batch."""
    whose, working = ("its", "it works") if _has_one(rank) else ("their", "they work")
    return f"{100 * share:.0f} % of the time {working} on a batch" if share < _ALL else f"all {whose} time"


def _has_one(rank: RankSignals) -> bool:
    return rank.loader is not None and rank.loader.num_workers == 1
