"""Which files are perftui's own: what runs of it within a training is never a place to be told of.

Wherever it lies: installed, in a checkout of any name, or seen from a container by another path than here.
"""

import os
from functools import lru_cache
from pathlib import Path

_HERE = Path(__file__).parents[1]
_FOLDERS = tuple(f"{_HERE / room}{os.sep}" for room in ("ipc", "trainer"))
_ROOM = "trainer/"
_WITHIN = ("probe", "profiling", "launch/inject")
"""Parts of that room that run in the training's own threads, and in its loader workers."""


@lru_cache(maxsize=16384)
def is_ours(file: str) -> bool:
    """Tell whether a file, by its path or the end of one, is of perftui."""
    if file.startswith(_FOLDERS):
        return True
    _, found, below = f"/{file}".rpartition(f"/{_ROOM}")
    return bool(found) and below in _names()


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    room = _HERE / "trainer"
    files = (file for part in _WITHIN for file in (room / part).rglob("*.py"))
    return frozenset(file.relative_to(room).as_posix() for file in files)
