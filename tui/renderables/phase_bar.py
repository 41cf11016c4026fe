"""Where a step goes: a stacked bar and its legend. The measured parts sum to the whole bar."""

from perftui.ipc.view import Shares
from perftui.tui.renderables.lines import Line, Run, fit, line
from perftui.tui.renderables.stacked_bar import Part, bar_legend, stacked_bar

PHASES = (
    ("loader_wait", "wait", "wait", "w"),
    ("h2d", "copy to GPU", "copy", "c"),
    ("forward", "forward", "fwd", "f"),
    ("backward", "backward", "bwd", "b"),
    ("comm_exposed", "communication", "comm", "m"),
    ("optimizer", "optimizer", "opt", "o"),
    ("other", "other", "other", "."),
)
"""Role and field, long name, short name, letter."""


def measured(shares: Shares) -> list[tuple[str, float]]:
    """Return the measured parts in the order in which a step runs through them, as (role, share)."""
    found = (
        ("loader_wait", shares.loader_wait),
        ("h2d", shares.h2d),
        ("forward", shares.forward),
        ("backward", shares.backward),
        ("comm_exposed", shares.comm_exposed),
        ("optimizer", shares.optimizer),
        ("other", shares.other),
    )
    return [(role, share) for role, share in found if share is not None]


def _parts(shares: Shares) -> list[Part]:
    looks = {role: (letter, long, short) for role, long, short, letter in PHASES}
    return [Part(role, *looks[role], share) for role, share in measured(shares)]


def phase_bar(shares: Shares, width: int, *, textured: bool = False) -> Line:
    """Draw the parts next to each other; with `textured`, by letters instead of colours."""
    parts = _parts(shares)
    if not parts:
        return fit(line(Run("not measured yet", "dim")), width)
    return stacked_bar(parts, width, textured=textured)


def legend(shares: Shares, width: int, *, textured: bool = False) -> Line:
    """Name the parts with their shares; the wait is always named."""
    parts = [part for part in _parts(shares) if part.share > 0.0005 or part.role == "loader_wait"]
    return bar_legend(parts, width, "loader_wait", textured=textured)
