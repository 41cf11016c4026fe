"""What a report is made of, before it becomes Markdown or a page: both say the same.

All text in here is text, wherever it came from; each writer escapes it in its own way.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from perftui.trainer.text_table import NEVER

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the report's title."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Running text; `quiet` for remarks."""

    text: str
    quiet: bool = False


@dataclass(frozen=True)
class Code:
    """Something to be copied as it is."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table; columns in `right` hold figures. Rows have as many cells as there are headings."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


@dataclass(frozen=True)
class ShareBars:
    """Parts of a whole, one bar a row: its label and (name, share 0-1 or None) in one order for all rows."""

    rows: tuple[tuple[str, tuple[tuple[str, float | None], ...]], ...]


Block: TypeAlias = Heading | Paragraph | Code | Items | Table | ShareBars


def pairs(rows: Sequence[tuple[str, str]]) -> Table:
    """Return a table of names and values."""
    return Table(("", ""), tuple(rows))


def as_table(bars: ShareBars) -> Table:
    """Return bars as a table of percentages."""
    names = tuple(name for name, _ in bars.rows[0][1])
    rows = tuple((label, *(percent_or_never(share) for _, share in parts)) for label, parts in bars.rows)
    return Table(("", *names), rows, frozenset(range(1, len(names) + 1)))


def percent_or_never(share: float | None) -> str:
    """Return a share (0-1) as percent, with a digit more below one; a dash where it was not measured."""
    if share is None:
        return NEVER
    return f"{100 * share:.{1 if 0 < abs(share) < 0.01 else 0}f} %"


def shown(text: str) -> str:
    """Return text without what a terminal or a reader could be steered by: control and direction marks."""
    return "".join(
        letter for letter in text if letter in "\n\t" or unicodedata.category(letter) not in _UNSEEN
    )
