"""The process that carries out a relaunch: started by this hub, or by the one that it follows.

It outlives hubs. While it measures trials no keeper is left to start a killed hub again, so it does that
itself (`tuning.hub_watch`), and the new hub takes it on here.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress

from perftui.ipc.owned_files import opener
from perftui.ipc.places import RunPlaces
from perftui.trainer.telemetry.processes import is_alive
from perftui.trainer.tuning.journal import is_noted, still_under_way
from perftui.trainer.tuning.plan import AFTER


class TunerProcess:
    """The relaunch of one run.

    Args:
        places: of the run that is relaunched.
    """

    def __init__(self, places: RunPlaces) -> None:
        self._places = places
        self._child: subprocess.Popen[bytes] | None = None
        self._adopted = self._under_way()
        self._brought_back = False

    def _under_way(self) -> tuple[int, int] | None:
        found = (each for each in still_under_way() if each.plan.run_id == self._places.run_id)
        return next(((each.pid, each.start_ticks) for each in found), None)

    def start(self) -> None:
        """Start it on the plan in the run's folder."""
        self._brought_back = False
        self._start()

    def _start(self, *how: str) -> None:
        self._adopted = None
        with open(self._places.state / "tuner.log", "ab", opener=opener) as log:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "perftui.trainer.tuning", self._places.run_id, *how],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def known(self) -> bool:
        """Whether there is one, or was."""
        return self._child is not None or self._adopted is not None

    @property
    def runs(self) -> bool:
        """Whether it goes on."""
        if self._adopted is not None:
            return is_alive(*self._adopted)
        return self._child is not None and self._child.poll() is None

    @property
    def succeeded(self) -> bool:
        """Whether it has come to its end; of one that another hub has started only the progress tells."""
        return self._adopted is not None or (self._child is not None and self._child.poll() == 0)

    def cancel(self) -> None:
        """Ask it to give up."""
        if self._adopted is not None and is_alive(*self._adopted):
            with suppress(ProcessLookupError):
                os.kill(self._adopted[0], signal.SIGTERM)
        elif self._child is not None:
            self._child.terminate()

    def bring_back_if_killed(self) -> None:
        """Have the original started again when the tuner was killed, which may have stopped it."""
        if self._brought_back or not self.known or self.runs:
            return
        if self._was_killed():
            self._brought_back = True
            self._start(AFTER)

    def _was_killed(self) -> bool:
        if self._child is not None:
            return (self._child.poll() or 0) < 0
        return is_noted(self._places.run_id)
