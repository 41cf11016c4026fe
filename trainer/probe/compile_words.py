"""What torch.compile says, made short enough for a line."""

import os
import re
from pathlib import Path

_KEPT = 240
_SPACES = re.compile(r"\s+")
_GUARD_NAME = re.compile(r"^\d+/\d+: ")
_EXPLANATION = re.compile(r"^\s*Explanation: (.+)$", re.MULTILINE)
_FOUND = re.compile(r'File "(.+?)", line (\d+)')
_PACKAGES = "site-packages" + os.sep


def _short(text: str) -> str:
    line = _SPACES.sub(" ", text).strip()
    return line if len(line) <= _KEPT else line[: _KEPT - 1] + "…"


def break_reason(text: str) -> str:
    """Return why a graph was cut: the first line, and torch's explanation where it gives one."""
    first = text.strip().split("\n", 1)[0]
    explained = _EXPLANATION.search(text)
    return _short(f"{first}: {explained[1]}" if explained else first)


def guard_reason(text: str) -> str:
    """Return which guard failed, without the number of the graph and the stack that follows."""
    return _short(_GUARD_NAME.sub("", text.strip().split("\n", 1)[0]))


def skip_reason(text: str) -> str:
    """Return why CUDA graphs were not used, with the place that torch found it at."""
    cause = text.replace("skipping cudagraphs due to ", "").partition("Found from")[0]
    found = _FOUND.search(text)
    return _short(cause.strip(" .\n") + (f" ({place(found[1], int(found[2]))})" if found else ""))


def place(file: str, line: int) -> str:
    """Return file:line, the file relative to the working directory or to the installed packages."""
    _, found, below = file.rpartition(_PACKAGES)
    return f"{below if found else file.removeprefix(_here())}:{line}"


def _here() -> str:
    try:
        return str(Path.cwd()) + os.sep
    except OSError:  # the folder is gone
        return os.sep + os.sep
