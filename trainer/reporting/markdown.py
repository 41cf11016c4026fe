"""Blocks as Markdown (GitHub's kind). What a run named, printed or raised formats nothing. Pure."""

import re
from collections.abc import Sequence

from perftui.trainer.reporting.blocks import (
    Block,
    Code,
    Heading,
    Items,
    Paragraph,
    ShareBars,
    Table,
    as_table,
    shown,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#&$!])")
_LIST_LIKE = re.compile(r"^(\d{0,9})([-+=.)])(?=[-=\s]|$)")
_TICKS = re.compile(r"`+")


def markdown_of(blocks: Sequence[Block]) -> str:
    """Return a document that ends in a line feed."""
    return "\n\n".join(_written(block) for block in blocks) + "\n"


def _written(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {_text(text)}"
        case Paragraph(text, quiet):
            return f"_{_text(text)}_" if quiet else _text(text)
        case Code(text):
            fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
            return f"{fence}text\n{shown(text)}\n{fence}"
        case Items(texts):
            return "\n".join(f"- {_text(text)}" for text in texts)
        case Table():
            return _table(block)
        case ShareBars():
            return _table(as_table(block))


def _table(table: Table) -> str:
    rule = ("--:" if at in table.right else "---" for at in range(len(table.headings)))
    rows = (table.headings, tuple(rule), *table.rows)
    return "\n".join(
        "| " + " | ".join(cell if at == 1 else _text(cell) for cell in row) + " |"
        for at, row in enumerate(rows)
    )


def _text(text: str) -> str:
    """Return text on one line that no reader of Markdown takes for anything else."""
    flat = _SPECIAL.sub(r"\\\1", " ".join(shown(text).split()))
    return _LIST_LIKE.sub(r"\1\\\2", flat)
