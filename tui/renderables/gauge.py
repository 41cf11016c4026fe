"""A share of a whole as a short bar."""

from perftui.tui.renderables.lines import BLANK, Line, Run, line

_EIGHTHS = " ▏▎▍▌▋▊▉"


def gauge(share: float | None, width: int, role: str = "accent") -> Line:
    """Draw a bar of `width` cells, filled to `share` (0-1) by eighths; an unknown share draws dots."""
    if share is None or width <= 0:
        return line(Run("·" * max(0, width), "track")) if width > 0 else BLANK
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    head = "█" * full + (_EIGHTHS[rest] if rest else "")
    return line(Run(head, role), Run("░" * (width - len(head)), "track"))
