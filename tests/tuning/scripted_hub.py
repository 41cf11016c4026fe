"""A hub that serves what a test has written down, and a follower of it."""

import threading
from collections.abc import Callable

import pytest

from perftui.ipc.codec import decode_from_dashboard
from perftui.ipc.dashboard_messages import Pull, Update
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.places import RunPlaces, make_run_places
from perftui.ipc.settings import Settings
from perftui.trainer.tuning.measure import Followed, Follower, Promise
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.reach import Prospect
from perftui.trainer.tuning.standing import Standing

CAPS = Caps(fewest_seconds=0.0, seconds=30.0, start_seconds=20.0, silent_seconds=20.0)


class ScriptedHub:
    """Serves `script(pull number)`, from 0, over real sockets, until closed."""

    def __init__(self, places: RunPlaces, script: Callable[[int], Update]) -> None:
        self._sockets = HubSockets(places)
        self._script = script
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        pulls = 0
        while not self._stop.is_set():
            for arrival in self._sockets.arrivals(20):
                assert isinstance(decode_from_dashboard(arrival.frame), Pull)
                self._sockets.to_dashboard(arrival.peer, self._script(pulls))
                pulls += 1

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._sockets.close()


@pytest.fixture
def places(runtime_dirs: object) -> RunPlaces:
    return make_run_places("trial-1")


def follow(
    places: RunPlaces,
    script: Callable[[int], Update],
    asked: Settings | None = None,
    caps: Caps = CAPS,
    cancelled: Callable[[], bool] = lambda: False,
    promise: Promise | None = None,
    prospect: Prospect | None = None,
) -> tuple[Followed, list[str]]:
    states: list[str] = []

    def progress(stands: Standing) -> None:
        if not states or states[-1] != stands.stage:
            states.append(stands.stage)

    hub = ScriptedHub(places, script)
    try:
        return Follower(
            places, asked or {}, 0.007, caps, progress, cancelled, promise, prospect
        ).follow(), states
    finally:
        hub.close()
