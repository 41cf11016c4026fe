"""Readings of the sensors as they go into the recording: single workers more rarely than the rest.

Sixty workers looked at every other second would fill the recording sooner than the steps of eight ranks.
"""

import msgspec

from perftui.ipc.view import HostView

WORKERS_EVERY_S = 10.0


class RecordedReadings:
    """Leaves the workers out of most readings; whoever reads them back keeps those of the reading before."""

    def __init__(self) -> None:
        self._recorded_unix: float | None = None

    def thinned(self, hosts: list[HostView], unix: float) -> list[HostView]:
        """Return what is to be recorded of the readings taken at `unix`."""
        looked = any(view.workers_age_s == 0 and view.workers for view in hosts)
        last = self._recorded_unix
        if looked and (last is None or unix - last >= WORKERS_EVERY_S):
            self._recorded_unix = last = unix
        if last is None or last == unix:
            return hosts
        age_s = unix - last
        return [
            msgspec.structs.replace(view, workers=[], workers_age_s=age_s) if view.workers else view
            for view in hosts
        ]
