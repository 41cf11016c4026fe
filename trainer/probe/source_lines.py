"""Which source files are the script's own, and their lines: what a place in the code is told by.

Files are read here and not by `linecache`: that removes an entry while it reads the file anew, and a
traceback printed by another thread at that moment would end in a KeyError. What it has already (cells of
notebooks, code that was made) is looked up in it.
"""

import dis
import functools
import linecache
import os
import re
import site
import sysconfig
import tokenize
from types import CodeType

_FILES_KEPT = 64
_KINDS = ("stdlib", "platstdlib", "purelib", "platlib")
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
"""Wherever they lie: of the distribution, of a cluster's modules, of another environment on the path."""
_LINES_ABOVE = 40
_BEGINS_BLOCK = ("def ", "async def ", "class ", "@")
_NO_CODE = re.compile(r"""\"(?:\\.|[^"\\])*\"|'(?:\\.|[^'\\])*'|\#.*""")
"""Strings and comments, of one line."""
_read: dict[str, list[str]] = {}


@functools.cache
def _roots() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {*(paths[kind] for kind in _KINDS), site.getusersitepackages()}
    return tuple(folder.rstrip(os.sep) + os.sep for folder in folders)


def is_installed(file: str) -> bool:
    """Return whether a file belongs to Python or to an installed package."""
    return file.startswith(_roots()) or any(part in file for part in _PACKAGES)


def lines_of(file: str) -> list[str]:
    """Return the lines of a source file as they were when they were first asked for; none: not readable."""
    entry = linecache.cache.get(file)
    if entry is not None and len(entry) == 4:  # (size, time, lines, name); else it is not loaded yet
        return entry[2]
    lines = _read.get(file)
    if lines is None:
        if len(_read) >= _FILES_KEPT:
            _read.clear()
        lines = _read[file] = _lines_in(file)
    return lines


def text_at(file: str, line: int) -> str:
    """Return one line of a source file, counted from 1; empty where there is none."""
    lines = lines_of(file)
    return lines[line - 1] if 1 <= line <= len(lines) else ""


def statement_at(file: str, line: int) -> str:
    """Return a line with those above it that open a bracket it stands in, outermost first.

    By the brackets alone: parsing a file would hold the interpreter for tens of milliseconds.
    """
    lines = lines_of(file)
    if not 1 <= line <= len(lines):
        return ""
    return "".join(lines[number - 1] for number in (*reversed(_openers(lines, line)), line))


@functools.lru_cache(maxsize=4096)
def begin_of_statement(file: str, line: int) -> int:
    """Return the line at which the statement begins that a line belongs to, by the same brackets."""
    return min((line, *_openers(lines_of(file), line)))


def _openers(lines: list[str], line: int) -> list[int]:
    """Return the lines above one that open a bracket it stands in, the nearest first."""
    found: list[int] = []
    open_brackets = 0
    for number in range(min(line, len(lines)) - 1, max(0, line - 1 - _LINES_ABOVE), -1):
        above = lines[number - 1]
        if above.lstrip().startswith(_BEGINS_BLOCK):
            break
        code = _NO_CODE.sub("", above)
        open_brackets += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
        if open_brackets > 0:
            found.append(number)
            open_brackets = 0
    return found


def _lines_in(file: str) -> list[str]:
    try:
        with tokenize.open(file) as stream:
            return stream.readlines()
    except (OSError, SyntaxError, ValueError):  # ValueError: of its encoding, or a name with a NUL
        return []


@functools.lru_cache(maxsize=256)
def line_without_own(code: CodeType, instruction: int) -> int:
    """Return the line that stands for an instruction that has none, as `frame.f_lineno` is None at it.

    A jump back to the head of a loop is such a one, and threads give way just there: it counts to the line it
    jumps to. Any other counts to the line before it.

    Args:
        code: what runs.
        instruction: `frame.f_lasti`.
    """
    jumps = (each for each in dis.get_instructions(code) if each.offset == instruction)
    at = next((each.argval for each in jumps if each.opcode in _JUMPS), instruction)
    lines = [line for begin, _, line in code.co_lines() if begin <= at and line]
    return lines[-1] if lines else code.co_firstlineno


_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
