"""The clock by which a run is told: unix time as the run began, carried on by the monotonic clock.

The wall clock may be set while a run goes on. Ages, limits and orders of events are taken from this one.
"""

import time

from perftui.ipc.run_files import RunDescription


class RunClock:
    """The clock of one run; the same in every process on its host.

    Args:
        description: of the run; one that does not say when it began by the monotonic clock is timed from now.
    """

    def __init__(self, description: RunDescription) -> None:
        now, began = time.monotonic(), description.started_monotonic_s
        if began is None or began > now:  # of an older perftui, or the host was started anew since
            self._offset_s = time.time() - now
        else:
            self._offset_s = description.started_unix - began

    def unix(self) -> float:
        """Return the time in unix seconds."""
        return time.monotonic() + self._offset_s

    def unix_ns(self) -> int:
        """Return the time in unix nanoseconds."""
        return time.monotonic_ns() + round(self._offset_s * 1e9)

    @property
    def wall_offset_ns(self) -> int:
        """What turns `perf_counter_ns` of a process on this host into this clock's time, in ns."""
        return round(self._offset_s * 1e9)
