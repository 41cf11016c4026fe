"""Which files hold the traces, and which rank each is."""

import re
from collections.abc import Sequence
from pathlib import Path

from perftui.ipc.errors import UsageError

_SUFFIXES = (".json", ".json.gz", ".trace", ".trace.gz")
_OURS = (".analysis.json", ".report.json", "/report.json")
_RANK = re.compile(r"(?:^|[^a-z])rank[-_.]?(\d+)", re.IGNORECASE)
_DIGITS = re.compile(r"(\d+)")


def trace_files(paths: Sequence[Path]) -> list[Path]:
    """Return the trace files among the paths; a folder stands for those in it, in natural order.

    Raises:
        UsageError: a path does not exist, or a folder holds no trace.
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted((entry for entry in path.iterdir() if _may_be_trace(entry)), key=_natural)
        if not inside:
            raise UsageError(f"{path}: no trace in this folder (files that end with {', '.join(_SUFFIXES)})")
        found += inside
    return list(dict.fromkeys(found))


def _may_be_trace(path: Path) -> bool:
    return path.name.endswith(_SUFFIXES) and not f"/{path.name}".endswith(_OURS) and path.is_file()


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in _DIGITS.split(path.name)]


def named_rank(path: Path) -> int | None:
    """Return the rank in a file's name, such as `rank3_step4.json`; None without one."""
    found = _RANK.search(path.name)
    return None if found is None else int(found[1])


def ranks_of(told: Sequence[int | None], named: Sequence[int | None]) -> tuple[list[int], str | None]:
    """Return each file's rank and a note where it had to be guessed.

    What the trace itself tells counts first, then the file's name; where that leaves gaps or gives one rank
    twice, files are numbered in order.
    """
    count = len(told)
    for candidates in (
        told,
        [one if one is not None else other for one, other in zip(told, named, strict=True)],
        named,
    ):
        known = [rank for rank in candidates if rank is not None]
        if len(known) == count == len(set(known)):
            return known, None
    if count == 1:
        return [0], None
    return list(range(count)), "the files do not tell their ranks: numbered in the order given"
