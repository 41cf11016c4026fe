"""Where the script makes or defines something, as `file:line`: told by code objects, and by the file's text.

Empty wherever that cannot be told. Nothing of the script's is run.
"""

import re
import sys
from collections.abc import Iterable
from dis import get_instructions
from functools import lru_cache
from types import CodeType, FunctionType

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.compile_words import place
from perftui.trainer.probe.reached_code import members, words_of
from perftui.trainer.probe.source_lines import lines_of

_KEPT = 64
_SET = r"\s*(?::[^=]+)?=(?!=)"
"""After a name: an annotation, then a value."""


@lru_cache(maxsize=_KEPT)
def attribute_set(classes: tuple[type, ...], name: str) -> str:
    """Return the line by which methods of some classes, or their bodies, set an attribute of the object's.

    The constructor's line stands before that of another method.
    """
    first = [each for _, each in members(classes, ("__init__",))]
    others = [each for kind in classes for each in vars(kind).values()]
    for function in (*first, *others):
        line = _line_set(function.__code__, name) if type(function) is FunctionType else None
        if line is not None:
            return place(function.__code__.co_filename, line)
    owner = next((kind for kind in classes if name in vars(kind)), None)
    return "" if owner is None else _in_body(owner, name)


@lru_cache(maxsize=_KEPT)
def global_set(module: str, name: str) -> str:
    """Return the line by which a module sets a global: at its top, else the only one that does it."""
    file: Foreign = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return ""
    lines = lines_of(file)
    top = _matching(lines, rf"{re.escape(name)}{_SET}")
    inner = _matching(lines, rf"\s+{re.escape(name)}{_SET}")
    found = top[0] if top else inner[0] if len(inner) == 1 else None
    return "" if found is None else place(file, found)


@lru_cache(maxsize=_KEPT)
def closed_over(file: str, line: int, name: str) -> str:
    """Return the nearest line above a function, which begins at a line, that sets what it closes over."""
    found = _matching(lines_of(file)[:line], rf"\s+{re.escape(name)}{_SET}")
    return place(file, found[-1]) if found else ""


def _line_set(code: CodeType, name: str) -> int | None:
    if name not in words_of(code).stored:
        return None
    for each in get_instructions(code):
        if each.opname == "STORE_ATTR" and each.argval == name:
            return next((line for begin, end, line in code.co_lines() if begin <= each.offset < end), None)
    return None


def _in_body(owner: type, name: str) -> str:
    file: Foreign = getattr(sys.modules.get(owner.__module__), "__file__", None)
    if file is None:
        return ""
    lines = lines_of(file)
    begins = _matching(lines, rf"\s*class {re.escape(owner.__name__)}\b")
    sets = _matching(lines, rf"\s+{re.escape(name)}{_SET}")
    found = next((line for line in sets if begins and line > begins[0]), None)
    return "" if found is None else place(file, found)


def _matching(lines: Iterable[str], pattern: str) -> list[int]:
    wanted = re.compile(pattern)
    return [number for number, line in enumerate(lines, 1) if wanted.match(line)]
