"""How the overview's room is shared out: a pure function of the screen's size and the ranks."""

from dataclasses import dataclass

CARD_WIDTH_MIN = 56
CARDS_MAX = 8
_FIXED = 5
"""Header, two lines of verdict, status, keys."""
_CHART_MIN = 7
_BOTTOM_MIN = 6


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
    side_by_side: bool
    """Findings and output next to each other."""

    @property
    def findings(self) -> int:
        """Height of the findings: all of the bottom, or its larger part where output stands below."""
        return self.bottom if self.side_by_side else -(-self.bottom * 5 // 9)


def plan(
    width: int, height: int, ranks: int, *, gpus: bool = False, relaunch: int = 0, large_output: bool = False
) -> Plan:
    """Share out the room. `relaunch` is the height that its panel would like; 0 when there is none."""
    body = max(0, height - _FIXED)
    wide = width >= 100
    if large_output:
        return Plan(0, 0, 0, 0, body, side_by_side=False)
    columns, card, rank_lines = _rank_room(width, body, ranks, gpus=gpus)
    left = body - rank_lines
    bottom_min = _BOTTOM_MIN if wide else _BOTTOM_MIN + 3
    middle = 0
    if relaunch:
        middle = min(relaunch, max(0, left - _BOTTOM_MIN + 1))
    elif left >= _CHART_MIN + bottom_min:
        middle = min(12, max(_CHART_MIN, left // 2))
    return Plan(columns, card, rank_lines, middle, left - middle, side_by_side=wide)


def _rank_room(width: int, body: int, ranks: int, *, gpus: bool) -> tuple[int, int, int]:
    """Return columns of cards, their height, and the height of all; table: 0 columns."""
    full = 7 if gpus else 6
    if ranks <= CARDS_MAX:
        columns = max(1, min(width // CARD_WIDTH_MIN, max(1, ranks)))
        rows = -(-max(1, ranks) // columns)
        for card in (full, 6, 5):
            if card * rows <= body * 0.6:
                return columns, card, card * rows
    return 0, 0, min(ranks + 1, max(3, body // 2))
