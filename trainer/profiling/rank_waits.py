"""Who waited for whom: the same collectives on several ranks, side by side.

All members of a collective end together, so that one that takes longer on a rank began earlier there: the
rank waited. That needs no common clock. Pure.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from perftui.ipc.trace_report import RankWait
from perftui.trainer.profiling.collective_calls import CollectiveCall
from perftui.trainer.profiling.thresholds import STRAGGLER_LAST_SHARE, STRAGGLER_WAIT_SHARE

_Key: TypeAlias = tuple[str | None, str | None, str, int]


@dataclass(frozen=True)
class Waits:
    """Of all ranks."""

    ranks: list[RankWait] = field(default_factory=list)
    by_kind: dict[tuple[int, str, str | None], float] = field(default_factory=dict)
    """(rank, name, group) → microseconds waited in matched calls."""


def rank_waits(calls: Mapping[int, Sequence[CollectiveCall]]) -> Waits:
    """Match collectives over ranks and return how long each waited.

    By group and torch's sequence number where traces have it, else by order within group and name, counted
    from the end: windows lose their head rather than their end. A call is matched among the ranks that have
    it, at least two.
    """
    members: dict[_Key, dict[int, int]] = defaultdict(dict)
    for rank, mine in calls.items():
        for key, call in _keyed(mine).items():
            members[key][rank] = call.duration_ns
    tally = {rank: _Tally() for rank in calls}
    by_kind: dict[tuple[int, str, str | None], float] = defaultdict(float)
    for (group, _, name, _), lasting in members.items():
        if len(lasting) < 2:
            continue
        shortest, longest = min(lasting.values()), max(lasting.values())
        last = min(lasting, key=lambda rank: (lasting[rank], rank)) if shortest < longest else None
        for rank, duration_ns in lasting.items():
            tally[rank].add(duration_ns - shortest, longest - duration_ns, came_last=rank == last)
            by_kind[rank, name, group] += (duration_ns - shortest) / 1000
    found = [tally[rank].figures(rank) for rank in sorted(calls) if tally[rank].matched]
    return Waits(found, dict(by_kind))


@dataclass
class _Tally:
    matched: int = 0
    wait_ns: int = 0
    late_ns: int = 0
    last: int = 0

    def add(self, wait_ns: int, late_ns: int, *, came_last: bool) -> None:
        self.matched += 1
        self.wait_ns += wait_ns
        self.late_ns += late_ns
        self.last += came_last

    def figures(self, rank: int) -> RankWait:
        return RankWait(
            rank=rank,
            matched=self.matched,
            wait_us=self.wait_ns / 1000,
            late_us=self.late_ns / self.matched / 1000,
            last_share=self.last / self.matched,
        )


def _keyed(calls: Sequence[CollectiveCall]) -> dict[_Key, CollectiveCall]:
    result: dict[_Key, CollectiveCall] = {}
    from_end: dict[tuple[str | None, str | None, str], int] = defaultdict(int)
    for call in reversed(calls):
        place = call.group, call.members, call.name
        from_end[place] += 1
        number = -from_end[place] if call.sequence is None else call.sequence
        result[(*place, number)] = call
    return result


def straggler(
    waits: Sequence[RankWait], window_us: float, exposed: Mapping[int, float | None]
) -> tuple[int, float] | None:
    """Return the rank that the others wait for, and how much longer than it they wait, of the window.

    None where no rank stands out: it must wait clearly less than the mean of the others, and come last often.
    A wait under which the others compute costs nothing, so they wait at most for as long as their exposed
    communication takes.

    Args:
        waits: of all ranks that could be compared.
        window_us: mean length of the window.
        exposed: by rank, exposed communication as a share of its window; None where it is not known.
    """
    if len(waits) < 2 or window_us <= 0:
        return None
    latest = min(waits, key=lambda wait: (wait.wait_us, wait.rank))
    others = [wait.wait_us for wait in waits if wait.rank != latest.rank]
    share = (sum(others) / len(others) - latest.wait_us) / window_us
    seen = [
        found for wait in waits if wait.rank != latest.rank and (found := exposed.get(wait.rank)) is not None
    ]
    if seen:
        share = min(share, sum(seen) / len(seen))
    if latest.last_share < STRAGGLER_LAST_SHARE or share < STRAGGLER_WAIT_SHARE:
        return None
    return latest.rank, share
