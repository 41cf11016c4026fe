"""What a person chooses of a profiling window before it opens: preset, steps, whose trace is kept. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from perftui.ipc.messages import Preset

_Value = TypeVar("_Value")
PRESETS: tuple[Preset, ...] = ("light", "shapes", "memory", "stacks")
STEPS = (1, 2, 3, 5, 10, 20, 50)
ROWS = ("record", "steps", "keep")


@dataclass(frozen=True)
class WindowChoice:
    """One choice; what stands here at first is what `p` opens."""

    ranks: tuple[int, ...] = ()
    """Of the run, the one in view first."""
    preset: Preset = "light"
    steps: int = 3
    keep: int | None = None
    """The only rank whose trace is kept; None: all keep theirs."""
    row: int = 0
    """Which of `ROWS` is being chosen."""

    @property
    def kept_ranks(self) -> list[int] | None:
        """As a command has it."""
        return None if self.keep is None else [self.keep]


def first_choice(ranks: Sequence[int], in_view: int | None) -> WindowChoice:
    """Return the choice to begin with, for a run with these ranks."""
    others = [rank for rank in ranks if rank != in_view]
    return WindowChoice(ranks=tuple(others if in_view is None else [in_view, *others]))


def at_row(choice: WindowChoice, by: int) -> WindowChoice:
    """Go to another row; the ends stay."""
    return replace(choice, row=max(0, min(len(ROWS) - 1, choice.row + by)))


def changed(choice: WindowChoice, by: int) -> WindowChoice:
    """Take the next value of the row, or one before; the ends stay."""
    if ROWS[choice.row] == "record":
        return replace(choice, preset=_next(PRESETS, choice.preset, by))
    if ROWS[choice.row] == "steps":
        return replace(choice, steps=_next(STEPS, choice.steps, by))
    if len(choice.ranks) < 2:
        return choice
    return replace(choice, keep=_next((None, *choice.ranks), choice.keep, by))


def _next(values: Sequence[_Value], value: _Value, by: int) -> _Value:
    return values[max(0, min(len(values) - 1, values.index(value) + by))]
