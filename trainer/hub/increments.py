"""What is new to each dashboard: update numbers, and for each the step counts at that moment."""

import time
from collections import deque

from perftui.ipc.step_record import StepRecord
from perftui.ipc.view import Mark, RankHistory
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.nearness import Near
from perftui.trainer.hub.step_log import StepLog

_NUMBERS_KEPT = 3000
_COUNTS_KEPT = 200_000
"""Over all ranks: of many ranks fewer updates are remembered, and who lags behind them gets a snapshot."""
_NUMBERS_LEAST = 60
_SNAPSHOT_STEPS = 1024
_OF_THE_RUN = -1
"""Stands for the run where marks are counted by rank."""
_BRIEF_STEPS = 64
"""Of each rank that nobody looks at, among many."""
_MARKS_SENT = 256


class Increments:
    """Numbers the updates of this hub, from the host's monotonic clock on: a restarted hub's are higher.

    Args:
        after: the last number that was used before; what it stands for is not known any more.
    """

    def __init__(self, after: int = 0) -> None:
        self.first = max(int(time.monotonic() * 10), after + 1)
        self.number = self.first
        self._counts: deque[tuple[int, dict[int, int], dict[int, int]]] = deque(maxlen=_NUMBERS_KEPT)

    def advance(self, fold: RunFold) -> int:
        """Begin a new update and remember how far each rank was."""
        self.number += 1
        steps = {rank: len(track.log) for rank, track in fold.ranks.items()}
        marks = {rank: track.marks_seen for rank, track in fold.ranks.items()}
        marks[_OF_THE_RUN] = fold.marks_seen
        self._counts.append((self.number, steps, marks))
        while len(self._counts) > max(_NUMBERS_LEAST, _COUNTS_KEPT // max(1, len(steps))):
            self._counts.popleft()
        return self.number

    def is_known(self, since: int) -> bool:
        """Return whether an increment from `since` can be given; otherwise it takes a snapshot."""
        return bool(self._counts) and self._counts[0][0] <= since <= self.number

    def _at(self, since: int) -> tuple[dict[int, int], dict[int, int]]:
        for number, steps, marks in reversed(self._counts):
            if number <= since:
                return steps, marks
        return {}, {}

    def history(self, fold: RunFold, since: int | None, near: Near | None = None) -> list[RankHistory]:
        """Return the steps that are new since update `since`; None: all that a new dashboard needs.

        Of many ranks (`near` is given) that is little of those that it does not look at.
        """
        steps, _ = self._at(since) if since is not None else ({}, {})
        parts: list[RankHistory] = []
        for track in fold.ordered:
            rank, log = track.hello.rank, track.log
            close = near is None or rank in near.ranks
            if close and (since is None or (near is not None and near.anew)):
                parts += _snapshot(rank, log)
            elif since is None:
                parts += _runs(rank, log.since(max(0, len(log) - _BRIEF_STEPS)))
            else:
                parts += _runs(rank, log.since(steps.get(rank, 0)))
        return parts

    def marks(self, fold: RunFold, since: int | None, near: Near | None = None) -> list[Mark]:
        """Return the events that are new since update `since`, of many ranks those of the near ones."""
        if near is not None and near.anew:
            since = None
        _, seen = self._at(since) if since is not None else ({}, {})
        fresh = fold.marks_seen - seen.get(_OF_THE_RUN, 0)
        found = list(fold.marks)[-fresh:] if fresh > 0 else []
        for track in (
            fold.ordered if near is None else [t for t in fold.ordered if t.hello.rank in near.ranks]
        ):
            fresh = track.marks_seen - seen.get(track.hello.rank, 0)
            if fresh > 0:
                found += list(track.marks)[-fresh:]
        return sorted(found, key=lambda mark: mark.unix)[-_MARKS_SENT:]


def _snapshot(rank: int, log: StepLog) -> list[RankHistory]:
    raw = log.since(max(0, len(log) - _SNAPSHOT_STEPS))
    first_raw = raw[0].step if raw else 0
    thinned = log.thinned
    steps, wall_ms, wait_ms, flags = thinned.first_steps, thinned.wall_ms, thinned.wait_ms, thinned.flags
    parts = [
        RankHistory(
            rank=rank,
            first_step=steps[begin],
            stride=thinned.stride,
            wall_ms=wall_ms[begin:end],
            wait_ms=wait_ms[begin:end],
            flags=flags[begin:end],
        )
        for begin, end in thinned.stretches(before=first_raw)
    ]
    return parts + _runs(rank, raw)


def _runs(rank: int, rows: list[StepRecord]) -> list[RankHistory]:
    """Return the rows as columns, one part for each stretch without a gap."""
    parts: list[RankHistory] = []
    begin = 0
    for at in range(1, len(rows) + 1):
        if at == len(rows) or rows[at].step != rows[at - 1].step + 1:
            stretch = rows[begin:at]
            parts.append(
                RankHistory(
                    rank=rank,
                    first_step=stretch[0].step,
                    stride=1,
                    wall_ms=[row.wall_ns / 1e6 for row in stretch],
                    wait_ms=[row.wait_ns / 1e6 for row in stretch],
                    flags=[row.flags for row in stretch],
                )
            )
            begin = at
    return parts
