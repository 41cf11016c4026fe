"""Readings of the sensors as they go into the recording: single workers more rarely than the rest.

Sixty workers looked at every other second would fill the recording sooner than the steps of eight ranks.
"""

import msgspec

from perftui.ipc.view import HostView

WORKERS_EVERY_S = 10.0


class RecordedReadings:
    """Leaves the workers out of most readings; whoever reads them back keeps those of the reading before."""

    def __init__(self) -> None:
        self._recorded_unix = 0.0
        self._none_there = True

    def thinned(self, hosts: list[HostView], unix: float) -> list[HostView]:
        """Return what is to be recorded of the readings taken at `unix`."""
        if any(view.workers_age_s == 0 for view in hosts):
            none_there = not any(view.workers for view in hosts)
            # that the first have come, or the last have gone, is recorded at once
            if none_there or self._none_there or unix - self._recorded_unix >= WORKERS_EVERY_S:
                self._recorded_unix, self._none_there = unix, none_there
                return hosts
        age_s = unix - self._recorded_unix
        return [
            view
            if view.workers_age_s is None
            else msgspec.structs.replace(view, workers=[], workers_age_s=age_s)
            for view in hosts
        ]
