"""Keeps the hub of a run that was stopped for its trials: its keeper has ended with the training."""

import threading
import time

from perftui.ipc.hub_lock import hub_lock_is_held
from perftui.ipc.places import RunPlaces
from perftui.trainer.launch.hub_process import HubProcess
from perftui.trainer.launch.start import hub_command

_LOOK_EVERY_S = 0.5


class HubWatch:
    """A thread of the tuner that starts the hub again when it was killed, until it is closed.

    Dashboards stay on the run while its change is measured, and see the trials through its hub.

    Args:
        places: of the run that was stopped, or is about to be.
    """

    def __init__(self, places: RunPlaces) -> None:
        self._places = places
        self._hub = HubProcess(hub_command(places.run_id), places.state)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="hub watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """End; a hub that was started here lives on by itself until nobody looks any more."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_EVERY_S):
            # while the training runs its keeper does it
            if self._places.exit_record.exists() and not self._is_there():
                self._hub.tick(time.monotonic())

    def _is_there(self) -> bool:
        """Whether a hub lives that was not started here, or one that was and is well."""
        return self._hub.is_alive() or hub_lock_is_held(self._places.hub_lock)
