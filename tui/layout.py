"""How the overview's room is shared out: a pure function of the screen's size and the ranks."""

from collections.abc import Collection
from dataclasses import dataclass

from perftui.tui.config.settled import PANEL_WORDS

CARD_WIDTH_MIN = 56
CARDS_MAX = 8
WIDE = 100
"""From this width on, findings and output stand side by side."""
_FIXED = 2
"""Header and keys."""
_VERDICT_ROOM = ((30, 4), (24, 3), (0, 2))
"""From which height of the screen on the verdict may have how many lines."""
_CHART_MIN = 7
_BOTTOM_MIN = 6
_OUTPUT_MIN = 4
_FRAME = 2
_CARDS_SHARE = 0.6
"""Of the room, for all cards at most."""
_CARD_MODEST = 8
_LARGE_CARDS_SHARE = 0.4
"""The same where cards are higher than that: the chart and the findings come before their last lines."""
_TWO_STATUS_LINES = 30
"""From this height on the host has a line of its own."""


@dataclass(frozen=True)
class Plan:
    """Heights in lines; 0 means not shown."""

    columns: int
    """Cards side by side; 0: the ranks are shown as a table."""
    card: int
    """Height of one card."""
    ranks: int
    """Height of all cards or of the table."""
    middle: int
    """The step-time chart or the relaunch."""
    bottom: int
    """Findings and output."""
    findings: int
    """Of the bottom: all of it, or its larger part where output stands below."""
    side_by_side: bool
    """Findings and output next to each other."""
    status: int = 1
    """Lines about the host and about perftui itself."""
    output: int = 0
    """Of the bottom, at most."""
    verdict: int = 2


def verdict_room(height: int) -> int:
    """Return how many lines the verdict may have on a screen of so many."""
    return next(lines for least, lines in _VERDICT_ROOM if height >= least)


def plan(
    width: int,
    height: int,
    ranks: int,
    *,
    gpus: bool = False,
    workers: bool = False,
    device_times: bool = False,
    pauses: bool = False,
    relaunch: int = 0,
    findings: tuple[int, int] = (0, 0),
    verdict: int = 2,
    panels: Collection[str] = PANEL_WORDS,
) -> Plan:
    """Share out the room.

    Args:
        width: of the screen, in cells.
        height: of the screen, in lines.
        ranks: how many there are.
        gpus: whether cards show a GPU.
        workers: whether cards show loader workers.
        device_times: whether cards show steps on the device's own timeline.
        pauses: whether cards show what takes time beside the steps.
        relaunch: the height that its panel would like; 0 when there is none.
        findings: lines that the leading finding needs, and that all need. The leading one is never cut for
            the chart's sake, and the chart is no higher than the least while any is cut.
        verdict: lines that the answer at the top takes.
        panels: those that are wanted. The relaunch is there whenever there is one.
    """
    status = 0 if "host" not in panels else 2 if height >= _TWO_STATUS_LINES else 1
    body = max(0, height - _FIXED - verdict - status)
    columns, card, rank_lines = 0, 0, 0
    if "ranks" in panels:
        extras = 2 * gpus + workers + device_times + pauses
        columns, card, rank_lines = _rank_room(width, body, ranks, extras=extras)
    left = body - rank_lines
    with_findings, with_output = "findings" in panels, "output" in panels
    wide = width >= WIDE and with_findings and with_output
    lead, every = (lines + _FRAME if with_findings else 0 for lines in findings)
    if not (with_findings or with_output):
        middle = left if relaunch or "steps" in panels else 0
    elif relaunch:
        middle = min(relaunch, max(0, left - _BOTTOM_MIN + 1))
    elif "steps" in panels:
        below = _OUTPUT_MIN if with_output and not wide else 0
        least = _BOTTOM_MIN + (3 if below and with_findings else 0)
        middle = _chart_room(left, max(least, lead + below), max(least, every + below))
    else:
        middle = 0
    bottom = left - middle
    high = bottom if wide or not with_output else max(-(-bottom * 5 // 9), min(every, bottom - _OUTPUT_MIN))
    return Plan(
        columns,
        card,
        rank_lines,
        middle,
        bottom,
        high if with_findings else 0,
        side_by_side=wide,
        status=status,
        output=bottom if with_output else 0,
        verdict=verdict,
    )


def _chart_room(left: int, lead: int, every: int) -> int:
    """Return the chart's height in `left` lines; the bottom needs `lead` of them, better `every`."""
    if left - every >= _CHART_MIN:
        return min(12, max(_CHART_MIN, left // 2), left - every)
    return _CHART_MIN if left - lead >= _CHART_MIN else 0


def _rank_room(width: int, body: int, ranks: int, *, extras: int) -> tuple[int, int, int]:
    """Return columns of cards, their height, and the height of all; table: 0 columns."""
    if ranks <= CARDS_MAX:
        columns = max(1, min(width // CARD_WIDTH_MIN, max(1, ranks)))
        rows = -(-max(1, ranks) // columns)
        for card in range(6 + extras, 4, -1):
            if card * rows <= body * (_CARDS_SHARE if card <= _CARD_MODEST else _LARGE_CARDS_SHARE):
                return columns, card, card * rows
    return 0, 0, min(ranks + 1, max(3, body // 2))
