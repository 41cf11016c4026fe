"""A page: a titled rule, and below it blocks of lines, one of which may be chosen. It fills a whole screen.

No box is drawn round it: on 80 x 24 every row and column counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from perftui.tui.renderables.lines import BLANK, Line, Run, clip, line, width_of

MARGIN = 2
"""Cells at the left, where the chosen block has its bar."""


@dataclass(frozen=True)
class Block:
    """Lines that are chosen together."""

    key: str
    """Names the block over updates; "" cannot be chosen."""
    lines: tuple[Line, ...]


def rule(title: Line, right: Line, width: int) -> Line:
    """Draw the line over a page: its title at the left, a remark at the right."""
    tail = (Run(" "), *right, Run(" ──", "frame")) if right else line(Run("─", "frame"))
    if width_of(tail) + 12 > width:
        tail = line(Run("─", "frame"))
    head = line(Run("── ", "frame"), *clip(title, max(0, width - width_of(tail) - 5)), " ")
    return (*head, Run("─" * (width - width_of(head) - width_of(tail)), "frame"), *tail)


def chosen(blocks: Sequence[Block], key: str) -> int | None:
    """Return the place of the chosen block: that of `key`, else the first that can be; None: none can."""
    places = [at for at, block in enumerate(blocks) if block.key]
    return next((at for at in places if blocks[at].key == key), places[0] if places else None)


def scrolled_to(blocks: Sequence[Block], at: int | None, top: int, height: int) -> int:
    """Return the first line in view, moved no further than it takes to see block `at`.

    Of a block that is higher than the view, some part of it.
    """
    most = max(0, _lines(blocks) - height)
    if at is None:
        return max(0, min(top, most))
    begin, end = _extent(blocks, at)
    low, high = min(begin, end - height), max(begin, end - height)
    return max(0, min(max(low, min(top, high)), most))


def stepped(blocks: Sequence[Block], key: str, top: int, height: int, by: int) -> tuple[str, int]:
    """Return key and first line after one step down (`by` 1) or up (-1).

    A step chooses the next block, but goes line by line through one that is higher than the view, and
    through what cannot be chosen at the end.
    """
    at = chosen(blocks, key)
    if at is None:
        return key, scrolled_to(blocks, None, top + by, height)
    begin, end = _extent(blocks, at)
    if (end > top + height) if by > 0 else (begin < top):
        return blocks[at].key, top + by
    ahead = range(at + 1, len(blocks)) if by > 0 else range(at - 1, -1, -1)
    following = next((place for place in ahead if blocks[place].key), None)
    if following is None:
        return blocks[at].key, scrolled_to(blocks, None, top + by, height)
    return blocks[following].key, scrolled_to(blocks, following, top, height)


def turned(blocks: Sequence[Block], key: str, top: int, height: int, pages: int) -> tuple[str, int]:
    """Return key and first line so many pages on: what can be chosen there is."""
    wanted = scrolled_to(blocks, None, top + pages * max(1, height - 1), height)
    begins = [sum(len(block.lines) for block in blocks[:at]) for at in range(len(blocks))]
    inside = [at for at, begin in enumerate(begins) if blocks[at].key and wanted <= begin < wanted + height]
    if not inside:
        return key, wanted
    at_end = wanted == top and pages > 0
    return blocks[inside[-1 if at_end else 0]].key, wanted


def _lines(blocks: Sequence[Block]) -> int:
    return sum(len(block.lines) for block in blocks)


def _extent(blocks: Sequence[Block], at: int) -> tuple[int, int]:
    """Return the first line of a block, and the one after its last; what stands above the first is its."""
    begin = 0 if at == chosen(blocks, "") else _lines(blocks[:at])
    return begin, _lines(blocks[: at + 1])


def page_body(blocks: Sequence[Block], at: int | None, top: int, height: int) -> list[Line]:
    """Return the lines in view, those of the chosen block with a bar at the left."""
    mark, margin = Run("┃ ", "accent"), Run(" " * MARGIN)
    drawn = [
        (mark if place == at and part else margin, *part) if part or place != at else BLANK
        for place, block in enumerate(blocks)
        for part in block.lines
    ]
    return drawn[top : top + height]


def position(blocks: Sequence[Block], top: int, height: int) -> Line:
    """Say how many lines are out of view."""
    below = sum(len(block.lines) for block in blocks) - top - height
    words = [*([f"↑{top}"] if top else []), *([f"↓{below} more"] if below > 0 else [])]
    return line(Run(" ".join(words), "dim"))
