"""What is expected of a loop beside what its own clock tells."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.probe.shapes.stopwatch import Stopwatch

Loop: TypeAlias = Callable[[Stopwatch], None]


@dataclass(frozen=True)
class Shape:
    """A loop, and what its clock cannot know."""

    run: Loop
    boundary: str = "optimizer"
    """What bounds its steps: optimizer, loader or explicit."""
    validations: tuple[int, ...] = ()
    """Batches of each."""
    compiles: bool = False
    """It needs torch.compile, and its first step compiles."""


SHAPES: dict[str, Shape] = {}
"""By name, in the order in which they run."""


def shape(
    *, boundary: str = "optimizer", validations: tuple[int, ...] = (), compiles: bool = False
) -> Callable[[Loop], Loop]:
    """Enter a loop under the name of its function."""

    def enter(loop: Loop) -> Loop:
        SHAPES[loop.__name__.replace("_", " ")] = Shape(loop, boundary, validations, compiles)
        return loop

    return enter
