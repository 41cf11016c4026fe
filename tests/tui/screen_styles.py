"""What a screen's cells look like in several themes at once, as a compact text."""

from collections.abc import Sequence
from itertools import groupby
from string import ascii_letters, digits

from rich.style import Style
from textual.app import App

_LETTERS = ascii_letters + digits + "!#$%&*+-/:;<=>?@^_~"
Cells = list[list[str]]
"""Of each line, of each cell: its style in words."""


def cells(app: App[None]) -> Cells:
    """Return the styles on the screen, as the terminal would get them."""
    strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    return [
        [_words(segment.style) for segment in strip for _ in range(segment.cell_length)] for strip in strips
    ]


def _words(style: Style | None) -> str:
    if style is None:
        return "-"
    marks = [name for name in ("bold", "dim", "italic", "reverse", "underline") if getattr(style, name)]
    colours = [colour.name if colour else "-" for colour in (style.color, style.bgcolor)]
    return " ".join([*marks, *colours])


def styles_text(themes: Sequence[str], screens: Sequence[Cells]) -> str:
    """Return one text for a screen in several themes: what each letter is in each, then how cells have them.

    A cell that looks alike in two places in one theme and differently in another has two letters. `a12 b3`
    is twelve cells of a and three of b; a line like the one above is `"`.
    """
    joint = [list(zip(*lines, strict=True)) for lines in zip(*screens, strict=True)]
    known = list(dict.fromkeys(cell for line in joint for cell in line))
    letters = dict(zip(known, _LETTERS, strict=False))
    legend = [f"{letters[each]}  {' | '.join(each)}" for each in known]
    lines = [
        " ".join(f"{letters[cell]}{sum(1 for _ in run)}" for cell, run in groupby(line)) for line in joint
    ]
    shown = [line if at == 0 or line != lines[at - 1] else '"' for at, line in enumerate(lines)]
    return "\n".join([" | ".join(themes), *legend, "", *shown, ""])
