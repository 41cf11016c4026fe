"""Names from traces, shortened to a width: what tells two kernels apart stays, what all of them share goes.

A C++ kernel name may have thousands of characters, most of them template arguments. It is shortened in
steps: the parameter list, then template arguments from the innermost on, and only then its middle.
"""

import re
from collections.abc import Sequence

from rich.cells import cell_len, chop_cells, set_cell_size

from perftui.tui.format import visible
from perftui.tui.renderables.lines import MORE, Line, Run, line

_NOISE = ("(anonymous namespace)::", "at::native::")
_FUNCTION = re.compile(r"[A-Za-z_]\w*(<.*>)?\(.*\)$")
_ARGUMENTS_MIN = 8
"""Fewer cells of template arguments say nothing."""
_HALVED_MIN = 30
"""From so many cells on, a name that fits gives way to its arguments where both do not fit."""
_LABEL_MIN = 16
"""From so many cells on, a name is cut in its middle, and told apart by its end too."""
_LONGEST = 20_000
"""Characters of a name that are looked at: no compiler makes longer ones, a broken file may."""


def short_name(name: str, width: int) -> str:
    """Return a name in at most `width` cells; whole where it fits."""
    text = visible(name[:_LONGEST])
    if cell_len(text) <= width:
        return text
    if not _from_cpp(text):
        return middle_cut(text, width)
    text = _without_parameters(text.removeprefix("void "))
    for noise in _NOISE:
        if cell_len(text) > width:
            text = text.replace(noise, "")
    for depth in (3, 2):
        if cell_len(text) > width:
            text = _without_arguments(text, depth)
    return text if cell_len(text) <= width else middle_cut(_first_arguments(text, width), width)


def label(name: str, width: int) -> str:
    """Return a name for a narrow place: its last part without arguments, cut at its end."""
    if width >= _LABEL_MIN:
        return short_name(name, width)
    text = visible(name[:_LONGEST])
    if _from_cpp(text):
        text = _without_arguments(_without_parameters(text.removeprefix("void ")), 1).replace("<…>", "")
    last = text.rpartition("::")[2] or text
    last = last.rpartition(": ")[2] or last
    return set_cell_size(last, width) if cell_len(last) > width else last


def _from_cpp(text: str) -> bool:
    return "::" in text or text.startswith("void ") or _FUNCTION.match(text) is not None


def _first_arguments(text: str, width: int) -> str:
    """Leave of the outermost template arguments the first that fit: they tell instances apart."""
    bare = _without_arguments(text, 1)
    at = bare.find("<…>") + 1
    room = width - cell_len(bare)
    if at > 0 and 0 <= room < _ARGUMENTS_MIN and width >= _HALVED_MIN:
        head = middle_cut(bare[: at - 1], width // 2)
        return f"{head}<{set_cell_size(text[at:], width - cell_len(head) - 3).rstrip()}…>"
    if at == 0 or room < _ARGUMENTS_MIN:
        return bare if room >= 0 else bare.replace("<…>", "")
    return f"{bare[:at]}{set_cell_size(text[at:], room).rstrip()}{bare[at:]}"


def middle_cut(text: str, width: int) -> str:
    """Cut a text in its middle; a little more is left of its beginning than of its end."""
    if cell_len(text) <= width:
        return text
    if width < 4:
        return set_cell_size(text, max(0, width - 1)).rstrip() + MORE if width > 0 else ""
    tail_room = (width - 1) * 2 // 5
    head = set_cell_size(text, width - 1 - tail_room).rstrip()
    tail = ""
    for character in reversed(text):
        if cell_len(character + tail) > tail_room:
            break
        tail = character + tail
    return head + MORE + tail


def _without_parameters(text: str) -> str:
    """Drop a parameter list at the end: `f<int>(float*, int)` becomes `f<int>`."""
    if not text.endswith(")"):
        return text
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return text[:at] if at > 0 and text[at - 1] != " " else text
    return text


def _without_arguments(text: str, deepest: int) -> str:
    """Replace template arguments from nesting level `deepest` (1: the outermost) on by an ellipsis."""
    kept: list[str] = []
    depth = 0
    for at, character in enumerate(text):
        if character == "<" and _opens(text, at):
            depth += 1
            if depth <= deepest:
                kept.append("<" if depth < deepest else "<…")
        elif character == ">" and depth > 0 and text[at - 1] != "-":
            depth -= 1
            if depth < deepest:
                kept.append(">")
        elif depth < deepest:
            kept.append(character)
    return "".join(kept)


def _opens(text: str, at: int) -> bool:
    before = text[at - 1] if at else " "
    return (before.isalnum() or before == "_") and not text.endswith("operator", 0, at)


def fold(text: str, width: int, role: str = "text") -> Sequence[Line]:
    """Break a text into lines of `width` cells wherever they end: a path or name that must stay whole."""
    return [line(Run(part, role)) for part in chop_cells(text, max(1, width))]
