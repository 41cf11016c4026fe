"""A stretch of time parted among spans that may overlap: which counts where is settled by their order. Pure.

Apart from the ledger of phases so that the arithmetic can be read, and tested, on its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""Begin and end, ns."""


def parted(begin_ns: int, end_ns: int, spans: Mapping[str, Iterable[Span]], rest: str) -> dict[str, int]:
    """Return how much of a stretch belongs to each kind of span; the parts sum to the stretch.

    Args:
        begin_ns: where it begins.
        end_ns: where it ends.
        spans: by kind, the kinds in order: what two of them claim belongs to the first.
        rest: kind of what nobody claims.
    """
    free: list[Span] = [(begin_ns, end_ns)] if end_ns > begin_ns else []
    parts: dict[str, int] = {}
    for kind, claims in spans.items():
        before_ns = _length(free)
        free = _without(free, sorted(claims))
        parts[kind] = parts.get(kind, 0) + before_ns - _length(free)
    parts[rest] = parts.get(rest, 0) + _length(free)
    return parts


def _length(spans: Sequence[Span]) -> int:
    return sum(end - begin for begin, end in spans)


def _without(free: Sequence[Span], claims: Sequence[Span]) -> list[Span]:
    """Return what is left of ordered, disjoint spans after ordered claims."""
    left: list[Span] = []
    place = 0
    for begin, end in free:
        while place < len(claims) and claims[place][1] <= begin:
            place += 1
        for claimed_begin, claimed_end in claims[place:]:
            if claimed_begin >= end:
                break
            if claimed_begin > begin:
                left.append((begin, claimed_begin))
            begin = max(begin, claimed_end)
            if begin >= end:
                break
        if begin < end:
            left.append((begin, end))
    return left
