"""How hot a figure is: by how much it is worse than what the ranks have in the middle.

Never by colour alone: without colours hot cells are bold, then reversed.
"""

from perftui.tui.renderables.lines import Run

_BEYOND_MEDIAN = (0.05, 0.15, 0.30)
"""Parts of the median. A worse figure by less says nothing: ranks scatter."""
_BEYOND_SHARE = (0.05, 0.10, 0.20)
"""Of a step: by so much more than the others a rank is at one phase."""
_LOST = (0.10, 0.25, 0.50)
"""Of a step that is lost outright."""


def worse(value: float | None, median: float | None, *, low: bool = False) -> int:
    """Return 0 to 3: how much worse a figure is than the median of all ranks.

    Args:
        value: the figure.
        median: of all ranks; None: there is nothing to compare with.
        low: whether low figures are the bad ones, as of rates.
    """
    if value is None or median is None or value <= 0 or median <= 0:
        return 0
    return _level((median / value if low else value / median) - 1.0, _BEYOND_MEDIAN)


def longer(share: float | None, median: float | None) -> int:
    """Return 0 to 3: by how much more of its step than others a rank is at a phase."""
    return 0 if share is None or median is None else _level(share - median, _BEYOND_SHARE)


def lost(share: float | None) -> int:
    """Return 0 to 3 for a share of the step in which nothing is computed."""
    return 0 if share is None else _level(share, _LOST)


def hot(text: str, level: int, role: str = "text") -> Run:
    """Return a figure in the colour of its level; of level 0 in its own."""
    if level == 0:
        return Run(text, role)
    return Run(text, "heat1") if level == 1 else Run(text, "on-bar", f"heat{level}")


def _level(excess: float, steps: tuple[float, float, float]) -> int:
    return sum(excess >= step for step in steps)
