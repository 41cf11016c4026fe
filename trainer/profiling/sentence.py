"""What a window means, in one sentence that its figures bear out."""

from collections.abc import Sequence
from dataclasses import dataclass

from perftui.ipc.view import ProfileRank
from perftui.trainer.profiling.steps import LOADER_PREFIX

LOADER_LEADS = 0.2
"""From this share on the loader is what the sentence is about."""


@dataclass(frozen=True)
class RankFigures:
    """What the sentence draws on, besides the rows."""

    profile: ProfileRank
    steps: int | None
    with_device: bool


def window_sentence(ranks: Sequence[RankFigures]) -> str:
    """Return the sentence for a window: of several ranks, about the one that waits longest for its loader."""
    if not ranks:
        return "No trace of this window could be read."
    leading = max(ranks, key=lambda figures: (figures.profile.loader_share or 0.0, -figures.profile.rank))
    sentence = _rank_sentence(leading)
    if len(ranks) == 1:
        return sentence
    return f"Rank {leading.profile.rank} of {len(ranks)} recorded: {sentence[0].lower()}{sentence[1:]}"


def _rank_sentence(figures: RankFigures) -> str:
    profile = figures.profile
    span = _span(figures)
    loader = profile.loader_share
    if loader is not None and loader >= LOADER_LEADS:
        place = "the loader's __next__ in the training thread"
        return f"{_percent(loader)} of {span} went into {place}; {_largest(figures)}."
    parts = [_largest(figures)]
    if profile.device_busy_share is not None:
        parts.insert(0, f"the GPU was busy for {_percent(profile.device_busy_share)} of {span}")
    if loader is not None:
        parts.append(f"the loader's __next__ took {_percent(loader)}")
    if profile.device_busy_share is None:
        parts[0] = f"in {span} {parts[0]}"
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _span(figures: RankFigures) -> str:
    if figures.steps is None:
        return f"this {figures.profile.window_ms or 0.0:.0f} ms trace (no step marks)"
    return "this step" if figures.steps == 1 else f"these {figures.steps} steps"


def _largest(figures: RankFigures) -> str:
    rows = (row for row in figures.profile.operators if not row.name.startswith(LOADER_PREFIX))
    largest = max(rows, key=lambda row: row.share, default=None)
    if largest is None:
        return "no operator was recorded"
    of_what = " in device time" if figures.with_device else ""
    return f"the largest operator is {largest.name}, {_percent(largest.share)}{of_what}"


def _percent(share: float) -> str:
    if 0 < share < 0.01:
        return "under 1 %"
    return f"{share * 100:.0f} %"
