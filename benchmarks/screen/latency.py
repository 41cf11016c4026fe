"""When the end of a step stood on the screen: from what was painted, and when steps ended."""

import re
from collections.abc import Iterable, Sequence

import pyte

from benchmarks.screen.terminal import Painted

_STEP = re.compile(r"step (\d[\d,]*)")


def shown_steps(painted: Iterable[Painted], columns: int, lines: int) -> list[tuple[float, int]]:
    """Return (moment, steps done) each time that the screen's first line shows another number of steps."""
    screen = pyte.Screen(columns, lines)
    stream = pyte.ByteStream(screen)
    found: list[tuple[float, int]] = []
    for piece in painted:
        stream.feed(piece.data)
        match = _STEP.search(screen.display[0])
        if match is not None:
            steps = int(match[1].replace(",", ""))
            if not found or found[-1][1] != steps:
                found.append((piece.at_s, steps))
    return found


def step_to_paint_s(
    shown: Sequence[tuple[float, int]], ends_s: Sequence[float], from_s: float, to_s: float
) -> list[float]:
    """Return for each step how long after its end the screen showed it.

    Args:
        shown: as `shown_steps` gives them.
        ends_s: when each step ended, on the same clock.
        from_s: only steps that ended from here on count,
        to_s: and ended before.
    """
    found: list[float] = []
    at = 0
    for step, end_s in enumerate(ends_s):
        if not from_s <= end_s < to_s:
            continue
        while at < len(shown) and (shown[at][1] < step + 1 or shown[at][0] < end_s):
            at += 1
        if at == len(shown):
            break
        found.append(shown[at][0] - end_s)
    return found
