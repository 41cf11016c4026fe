"""The vocabulary of all pictures: a line is runs of text, each with a role that stands for a colour."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, set_cell_size

MORE = "…"


class Run(NamedTuple):
    """Text of one role, on the colour of another role where `back` is given."""

    text: str
    role: str = "text"
    back: str = ""


Line: TypeAlias = tuple[Run, ...]
BLANK: Line = ()


def line(*runs: Run | str) -> Line:
    """Return a line; plain strings get the role `text`, empty ones vanish."""
    return tuple(
        [
            Run(run) if isinstance(run, str) else run
            for run in runs
            if (run if isinstance(run, str) else run[0])
        ]
    )


def plain(line_: Line) -> str:
    """Return the text of a line."""
    return "".join(run.text for run in line_)


def width_of(line_: Line) -> int:
    """Return a line's width in cells."""
    return sum([len(run[0]) if run[0].isascii() else cell_len(run[0]) for run in line_])


def clip(line_: Line, width: int) -> Line:
    """Cut a line to `width` cells; what was cut is announced by an ellipsis."""
    if width_of(line_) <= width:
        return line_
    if width <= 0:
        return BLANK
    kept: list[Run] = []
    left = width - 1
    for run in line_:
        size = cell_len(run.text)
        if size > left:
            kept.append(run._replace(text=set_cell_size(run.text, left).rstrip() + MORE))
            break
        kept.append(run)
        left -= size
    return line(*kept)


_CLAUSE_ENDS = (". ", ": ", "; ", ", ")


def clause(text: str, width: int) -> str:
    """Return a sentence that fits into `width` cells: whole, or up to a clause's end, or else cut."""
    if cell_len(text) <= width:
        return text
    ends = [at for mark in _CLAUSE_ENDS if (at := text.rfind(mark, 0, max(0, width))) > 0]
    best = max(ends, default=0)
    return text[:best] if best >= width // 2 else plain(clip(line(text), width))


def fit(line_: Line, width: int) -> Line:
    """Cut or pad a line to exactly `width` cells."""
    missing = width - width_of(line_)
    if missing < 0:
        line_ = clip(line_, width)
        missing = width - width_of(line_)
    return (*line_, Run(" " * missing)) if missing > 0 else line_


def spread(left: Line, right: Line, width: int) -> Line:
    """Put one line at the left and one at the right end; the left one gives way."""
    room = width - width_of(right)
    if room < 8:
        return fit(left, width)
    return (*fit(clip(left, room - 1), room), *right)


def join(parts: Iterable[Line], separator: Line) -> Line:
    """Join lines with a separator."""
    joined: list[Run] = []
    for part in parts:
        if part:
            joined += [*(separator if joined else ()), *part]
    return tuple(joined)


def join_fitting(parts: Sequence[Line], separator: Line, width: int) -> Line:
    """Join as many of the parts as fit, the most important first; later ones are left out whole."""
    chosen: list[Line] = []
    for part in parts:
        if part and width_of(join([*chosen, part], separator)) <= width:
            chosen.append(part)
    return join(chosen, separator)


_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[mµ]?s|min|[GM]iB)(?:\W|$))")
_TIE = "\ue000"


def wrap(text: str, width: int, role: str = "text") -> list[Line]:
    """Break a text at blanks, but not before a unit, into lines of at most `width` cells.

    Over-long words are cut.
    """
    lines: list[str] = []
    current = ""
    for word in _BEFORE_UNIT.sub(_TIE, text).split():
        candidate = f"{current} {word}" if current else word
        if cell_len(candidate) <= width:
            current = candidate
            continue
        if current:
            lines.append(current)
        current = plain(clip(line(word), width))
    return [line(Run(part.replace(_TIE, " "), role)) for part in (*lines, current) if part]


def frame(
    body: Sequence[Line],
    width: int,
    height: int,
    title: Line = BLANK,
    right: Line = BLANK,
    role: str = "frame",
) -> list[Line]:
    """Draw a box round a body, its title in the upper edge; the body is cut or padded to fit."""
    if width < 4 or height < 2:
        return [fit(part, width) for part in body[:height]]
    inner, rows = width - 4, height - 2
    middle = [
        (Run("│ ", role), *fit(body[row] if row < len(body) else BLANK, inner), Run(" │", role))
        for row in range(rows)
    ]
    bottom = line(Run("╰" + "─" * (width - 2) + "╯", role))
    return [_top_edge(width, title, right, role), *middle, bottom]


def _top_edge(width: int, title: Line, right: Line, role: str) -> Line:
    tail = (Run(" ", role), *right, Run(" ─╮", role)) if right else line(Run("╮", role))
    if width_of(tail) + 8 > width:
        tail = line(Run("╮", role))
    room = width - width_of(tail) - 2
    head = (Run("╭─", role), *((Run(" ", role), *clip(title, room - 2), Run(" ", role)) if title else ()))
    return (*head, Run("─" * (width - width_of(head) - width_of(tail)), role), *tail)


def side_by_side(blocks: Sequence[Sequence[Line]], gap: int = 0) -> list[Line]:
    """Put blocks of equal height next to each other."""
    rows = zip(*blocks, strict=True)
    return [join(row, line(Run(" " * gap)) if gap else BLANK) for row in rows]
