"""Work that is done in parts, so that whoever does it can turn to others in between."""

from collections.abc import Generator
from typing import TypeAlias, TypeVar

_Result = TypeVar("_Result")
Parts: TypeAlias = Generator[None, None, _Result]
"""Each `next` does a part; the result comes with the end."""


def at_once(parts: Parts[_Result]) -> _Result:
    """Do all of it."""
    try:
        while True:
            next(parts)
    except StopIteration as end:
        result: _Result = end.value
        return result
