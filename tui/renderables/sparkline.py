"""A history in one line of block characters, newest at the right."""

from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"


def pooled(values: Sequence[float], columns: int) -> list[float]:
    """Return at most `columns` values: the newest ones, pooled by their maximum so that no spike is lost.

    Groups are aligned to the newest value, and all have the same size.
    """
    if columns <= 0:
        return []
    size = max(1, -(-len(values) // columns))
    start = len(values) % size
    groups = [values[:start]] if start else []
    groups += [values[index : index + size] for index in range(start, len(values), size)]
    return [max(group) for group in groups][-columns:]


def sparkline(values: Sequence[float], width: int) -> str:
    """Draw the newest `width` values from zero to their own maximum; shorter histories stand at the right."""
    shown = values[-width:] if width > 0 else ()
    top = max(shown, default=0.0)
    if top <= 0:
        return " " * (width - len(shown)) + BARS[0] * len(shown)
    bars = "".join(BARS[min(len(BARS) - 1, int(value / top * len(BARS)))] for value in shown)
    return " " * (width - len(bars)) + bars
