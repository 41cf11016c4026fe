"""Tells others how the search of this process stands, in a small file that goes with it."""

import contextlib
import os
import socket
import time

from perftui.ipc.places import search_progress_path
from perftui.ipc.run_files import write_record
from perftui.ipc.search_view import SearchProgress
from perftui.ipc.view import LaunchProgress
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.tuning.measure import Progress
from perftui.trainer.tuning.search.next_move import LaunchMove
from perftui.trainer.tuning.standing import Standing, told_progress

_EVERY_S = 0.5


class SharedProgress:
    """Writes twice a second at most; a disk that is full costs the picture, never the search."""

    def __init__(self, search_id: str) -> None:
        self._path = search_progress_path(socket.gethostname())
        self._search_id = search_id
        self._ticks = start_ticks(os.getpid()) or 0
        self._told_s, self._stage = 0.0, ""
        self.tell(None)

    def tell(self, launch: LaunchProgress | None) -> None:
        """Write how the launch that goes on stands; None: none does."""
        told = SearchProgress(
            search_id=self._search_id, pid=os.getpid(), started_ticks=self._ticks, launch=launch
        )
        with contextlib.suppress(OSError):
            write_record(self._path, told)

    def of(self, move: LaunchMove, also: Progress) -> Progress:
        """Return what to call as a launch goes on; it calls `also` too."""

        def tell(stands: Standing) -> None:
            also(stands)
            now = time.monotonic()
            if stands.stage != self._stage or now - self._told_s >= _EVERY_S:
                self._told_s, self._stage = now, stands.stage
                self.tell(told_progress(move.label, stands))

        return tell

    def close(self) -> None:
        """Take the file away."""
        with contextlib.suppress(OSError):
            self._path.unlink()
