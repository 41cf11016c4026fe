"""Which files hold the traces, and which rank each is."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import count
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


def ranks_of(
    told: Sequence[int | None], named: Sequence[int | None], readable: Sequence[bool]
) -> tuple[list[int], str | None]:
    """Return each file's rank, and a note where one had to be guessed.

    What the trace itself tells counts first, then the file's name. Files that tell neither get the numbers
    that are left, in order, those that can be read first. A rank can occur twice: then several windows of it
    were given.
    """
    known = _known(told, named, readable)
    taken = {rank for rank in known if rank is not None}
    for place, rank in enumerate(named):
        if not readable[place] and rank is not None and rank not in taken:
            known[place] = rank
            taken.add(rank)
    free = (number for number in count() if number not in taken)
    places = range(len(known))
    guessed = [place for place in places if readable[place] and known[place] is None]
    for place in (*guessed, *(place for place in places if not readable[place])):
        if known[place] is None:
            known[place] = next(free)
    ranks = [rank for rank in known if rank is not None]
    return ranks, _guess(ranks, guessed, sum(readable))


def _known(
    told: Sequence[int | None], named: Sequence[int | None], readable: Sequence[bool]
) -> list[int | None]:
    """Return what is known of the readable files: the names alone where only they tell each its own rank."""
    either = [one if one is not None else other for one, other in zip(told, named, strict=True)]
    for candidates in (either, named):
        known = [rank for rank, fits in zip(candidates, readable, strict=True) if fits]
        if None not in known and len(known) == len(set(known)):
            return [rank if fits else None for rank, fits in zip(candidates, readable, strict=True)]
    return [rank if fits else None for rank, fits in zip(either, readable, strict=True)]


def _guess(ranks: Sequence[int], guessed: Sequence[int], readable: int) -> str | None:
    if not guessed or readable < 2:
        return None
    if len(guessed) == readable:
        return "the files do not tell their ranks: numbered in the order given"
    numbers = ", ".join(str(ranks[place]) for place in guessed)
    return f"not all files tell their ranks: {numbers} {'is' if len(guessed) == 1 else 'are'} a guess"


def as_windows(ranks: Sequence[int]) -> str | None:
    """Return the note where traces are several windows of one rank, so that they are no ranks; else None."""
    repeated = sorted(rank for rank, times in Counter(ranks).items() if times > 1)
    if not repeated:
        return None
    whose = f"rank{'s' if len(repeated) > 1 else ''} {', '.join(map(str, repeated))}"
    return f"several windows of {whose}: numbered in the order given, and not compared as ranks"
