"""What one loader worker of a rank keeps to itself, look after look, as long as it lives. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from perftui.ipc.host_view import WorkerView
from perftui.trainer.diagnosis.signals import WorkerGrowth
from perftui.trainer.hub.facts_log import rise_of

_POINTS_KEPT = 512


class _Point(NamedTuple):
    unix: float
    private_mib: float
    rss_mib: float


class WorkerMemory:
    """Of the one worker of a rank whose own memory is read; another one begins anew."""

    def __init__(self) -> None:
        self._worker: tuple[int, int] | None = None
        self._points: list[_Point] = []

    def add(self, views: Iterable[WorkerView], unix: float) -> None:
        """Take in a look at the workers of a rank; a figure that was not read again is not counted again."""
        for view in views:
            if view.private_mib is None or view.rss_mib is None:
                continue
            worker = (view.pid, view.start_ticks)
            if worker != self._worker:
                self._worker, self._points = worker, []
            if self._points and self._points[-1].private_mib == view.private_mib:
                continue
            self._points.append(_Point(unix, view.private_mib, view.rss_mib))
            if len(self._points) > _POINTS_KEPT:
                del self._points[1:-1:2]

    def growth(self, seconds: float | None = None) -> WorkerGrowth | None:
        """Return by how much it grew over about the last `seconds`, or since it was first seen.

        None for fewer than two looks.
        """
        if len(self._points) < 2:
            return None
        last = self._points[-1]
        within = [each for each in self._points if not seconds or last.unix - each.unix <= seconds]
        first = within[0]
        return WorkerGrowth(
            seconds=last.unix - first.unix,
            private_mib=last.private_mib - first.private_mib,
            rss_mib=last.rss_mib - first.rss_mib,
            rise=rise_of([each.private_mib for each in within]),
        )
