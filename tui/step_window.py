"""Which steps a history shows: the whole run, the newest of them, or an earlier stretch. Pure."""

from dataclasses import dataclass, replace
from typing import TypeAlias

Bounds: TypeAlias = tuple[int, int | None, int | None]
"""First step, last step and how many of the newest, as `StepsQuery` takes them."""
_LEAST = 16
_SHIFT = 4
"""A shift goes this part of the window on."""


@dataclass(frozen=True)
class StepWindow:
    """`steps` None: the whole run. `last` None: up to the newest step, whatever comes."""

    steps: int | None = None
    last: int | None = None

    def zoomed(self, way: int, newest: int) -> "StepWindow":
        """Return half as many steps (1) or twice as many (-1) that end at the same one."""
        every = newest + 1
        now = min(self.steps or every, every)
        steps = max(_LEAST, now // 2) if way > 0 else now * 2
        return (
            StepWindow(None, None) if steps >= every and way < 0 else replace(self, steps=min(steps, every))
        )

    def shifted(self, way: int, newest: int) -> "StepWindow":
        """Return the window moved on (1) or back (-1); at the newest step it follows again."""
        if self.steps is None:
            return self
        last = newest if self.last is None else self.last
        moved = last + way * max(1, self.steps // _SHIFT)
        moved = max(min(self.steps, newest + 1) - 1, moved)
        return replace(self, last=None if moved >= newest else moved)

    def bounds(self, until: int | None = None) -> Bounds:
        """Return what to ask the hub for.

        Args:
            until: the newest step that is to be seen, where the picture stands still at an earlier time.
        """
        if until is not None:
            last = until if self.last is None else min(self.last, until)
            return (0 if self.steps is None else max(0, last - self.steps + 1)), last, None
        if self.steps is None:
            return 0, None, None
        if self.last is None:
            return 0, None, self.steps
        return max(0, self.last - self.steps + 1), self.last, None
