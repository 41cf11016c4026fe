"""What freezing, stepping back in time and, in a replay, seeking do: which state is shown, and its words.

A live run is gone back in by the dashboard's own memory of it, a replay by its hub, which plays it again.
"""

from collections.abc import Callable

from perftui.ipc.dashboard_link import new_command_id
from perftui.ipc.dashboard_messages import SeekCommand
from perftui.tui.past import Past, state_at, step_back, time_of
from perftui.tui.renderables.time_words import frozen_words
from perftui.tui.state import DashboardState, closed

SPEEDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_SEEK_S = 10.0
"""A step of a replay that runs; of a paused one it is a second."""
_END_S = 1e9


class TimeKeys:
    """Holds what is frozen; `send` takes commands for the hub of a replay."""

    def __init__(self, send: Callable[[SeekCommand, str], None]) -> None:
        self._send = send
        self._held: DashboardState | None = None
        self._past = Past()

    @property
    def held(self) -> bool:
        """Whether the picture is frozen here."""
        return self._held is not None

    def in_force(self, live: DashboardState, *, on_overview: bool) -> bool:
        """Whether keys go through time: the picture stands still, or the overview shows a replay."""
        return self.held or (live.replayed and (on_overview or paused(live)))

    def heard(self, past: Past) -> None:
        """Take over the newest memory."""
        self._past = past

    def shown(self, live: DashboardState) -> DashboardState:
        """Return the state that is to be shown."""
        return self._held or live

    def note(self, live: DashboardState) -> str:
        """Say from when the picture is, where it is not the newest."""
        return frozen_words(self._held, live) if self._held else ""

    def close(self, relaunch_id: str) -> None:
        """Leave a relaunch out of the frozen picture too."""
        self._held = closed(self._held, relaunch_id) if self._held else None

    def freeze(self, live: DashboardState) -> None:
        """Hold the picture or let it go; a replay is paused at its hub."""
        if live.replayed:
            self._seek("pause", paused=not paused(live))
        else:
            self._held = None if self._held else live

    def let_go(self, live: DashboardState) -> None:
        """Show the newest again; in a replay, go to its end."""
        self._held = None
        if live.replayed:
            self._seek("seek", elapsed_s=_END_S)

    def step(self, live: DashboardState, by: int) -> None:
        """Go so many moments back or on; beyond the newest the picture is live again."""
        if live.replayed and live.header is not None:
            each_s = 1.0 if paused(live) else _SEEK_S
            self._seek("seek", elapsed_s=max(0.0, live.header.elapsed_s + by * each_s))
        elif self._held is not None:
            moment = step_back(self._past, time_of(self._held), by)
            if moment is None:
                self._held = None
            else:
                self._held = state_at(live, self._past, moment)

    def faster(self, live: DashboardState, way: int) -> None:
        """In a replay, play at the next speed (1) or the one before (-1)."""
        now = live.header.replay_speed if live.header else None
        if now is not None:
            higher, lower = [each for each in SPEEDS if each > now], [each for each in SPEEDS if each < now]
            among = higher[:1] if way > 0 else lower[-1:]
            if among:
                self._seek("speed", speed=among[0])

    def _seek(
        self,
        what: str,
        *,
        elapsed_s: float | None = None,
        speed: float | None = None,
        paused: bool | None = None,
    ) -> None:
        ident = new_command_id()
        self._send(SeekCommand(command_id=ident, elapsed_s=elapsed_s, speed=speed, paused=paused), what)


def paused(live: DashboardState) -> bool:
    """Whether a replay stands still."""
    return live.header is not None and live.header.replay_paused
