"""Readings of one host over time: a single second says little about who keeps the cores busy."""

from collections import deque
from collections.abc import Iterable

from perftui.ipc.view import HostView
from perftui.trainer.diagnosis.signals import HostSignals

_RECENT = 10


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def signals_over(readings: Iterable[HostView]) -> HostSignals:
    """Return the mean of some readings (at least one) of one host."""
    views = list(readings)
    newest = views[-1]
    return HostSignals(
        name=newest.name,
        cpus=newest.cpus,
        cores=newest.cores,
        cpu_busy=_mean(view.cpu_busy for view in views),
        run_busy=_mean(view.run_busy for view in views),
        pressure_share=_mean(view.pressure_share for view in views),
        shm_free_mib=newest.shm_free_mib,
    )


class HostLog:
    """Readings taken once a second: the newest ten, and every n-th over the whole run."""

    def __init__(self, whole_points: int = 600) -> None:
        self._recent: deque[HostView] = deque(maxlen=_RECENT)
        self._whole: list[HostView] = []
        self._whole_points = whole_points
        self._stride = 1
        self._seen = 0

    def add(self, view: HostView, *, training: bool) -> None:
        """Take one reading in; only those made while the run trained count for the whole."""
        self._recent.append(view)
        if not training:
            return
        if self._seen % self._stride == 0:
            self._whole.append(view)
            if len(self._whole) > self._whole_points:
                self._whole = self._whole[::2]
                self._stride *= 2
        self._seen += 1

    def recent(self) -> HostSignals | None:
        """Return the mean of the last ten seconds."""
        return signals_over(self._recent) if self._recent else None

    def whole(self) -> HostSignals | None:
        """Return the mean over the training so far, or of the last seconds when it has hardly begun."""
        return signals_over(self._whole) if self._whole else self.recent()
