"""A history in one line of block characters, newest at the right."""

from collections.abc import Sequence
from statistics import median

BARS = "▁▂▃▄▅▆▇█"


_HEADROOM = 2.0
"""The scale ends at this many medians: one slow step is a full bar, and does not flatten the others."""


def sparkline(values: Sequence[float], width: int) -> str:
    """Draw the newest `width` values on a scale from zero; shorter histories stand at the right."""
    shown = values[-width:] if width > 0 else ()
    top = min(max(shown), _HEADROOM * median(shown)) if shown else 0.0
    if top <= 0:
        return " " * (width - len(shown)) + BARS[0] * len(shown)
    bars = "".join(BARS[min(len(BARS) - 1, int(value / top * len(BARS)))] for value in shown)
    return " " * (width - len(bars)) + bars
