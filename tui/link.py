"""The reader thread: pulls from the hub at most so many times a second, folds, and posts the newest state.

It owns the socket. A silent hub is noticed, kept asking for with a fresh socket (so no pulls pile up), and
followed to the run that replaced it.
"""

import queue
import threading
import time
from collections.abc import Callable, Mapping

from textual.message import Message

from perftui.ipc.dashboard_link import DashboardLink, LeadAddress
from perftui.ipc.dashboard_messages import (
    MANY_RANKS,
    Answer,
    Command,
    Done,
    Question,
    SeekCommand,
    SummaryQuery,
    ToDashboard,
    Update,
)
from perftui.ipc.errors import PerftuiError
from perftui.ipc.places import run_places
from perftui.tui.key_map import KEY_NAMES
from perftui.tui.messages import CommandAnswered, CommandDone, LinkFailed, StateChanged
from perftui.tui.past import Past, remembered
from perftui.tui.state import DashboardState, apply, followed, run_of, silent

_PULL_S = 0.25
_PULL_MANY_S = 0.35
"""Beyond a few ranks there is more to paint; a step is still on the screen half a second after its end."""
_FEW_RANKS = 4
_PULL_CLOSER_S = 0.1
"""When another of many ranks is looked at: what is told of it must not wait."""
_POLL_MS = 40
_SILENT_S = 2.0
_RETRY_S = 2.0
_HARMLESS = SeekCommand | SummaryQuery | Question
"""What a read-only dashboard may send."""


class HubLink:
    """A thread between one hub and the app.

    Args:
        run_id: whose hub.
        post: must be safe to call from the thread.
        pulls_per_s: how often to ask the hub at most; None: as often as suits the number of ranks.
        keys: what the keys of actions look like.
        lead: the lead hub of a run over several hosts, to be reached over TCP; None: the run is here.
        read_only: no command that changes anything leaves it, whatever the app asks.
    """

    def __init__(
        self,
        run_id: str,
        post: Callable[[Message], object],
        pulls_per_s: float | None = None,
        keys: Mapping[str, str] = KEY_NAMES,
        lead: LeadAddress | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        self._post = post
        self._lead = lead
        self._read_only = read_only
        self._period_s = None if pulls_per_s is None else 1.0 / pulls_per_s
        self._commands: queue.SimpleQueue[tuple[Command | Question, str | None]] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._state = DashboardState(run_id=run_id, keys=keys)
        self._past = Past()
        self._closer: tuple[int, ...] = (0,)
        self._told_closer: tuple[int, ...] = ()
        self._heard_s = self._opened_s = time.monotonic()
        self._pulled_s = 0.0
        self._thread = threading.Thread(target=self._run, name="perftui-link", daemon=True)

    def start(self) -> None:
        """Begin to pull."""
        self._thread.start()

    def send(self, command: Command | Question, run_id: str | None = None) -> None:
        """Hand a command to the thread; its answer comes as a message.

        Args:
            command: or a question.
            run_id: the run that is meant: another one, that was followed to meanwhile, is sent nothing; None:
                whichever is in view.
        """
        self._commands.put((command, run_id))

    def look_closer(self, ranks: tuple[int, ...]) -> None:
        """Ask for all about these ranks from now on, where there are many."""
        self._closer = ranks

    def close(self) -> None:
        """End the thread and its socket."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                self._serve_one_socket()
        except PerftuiError as error:
            self._post(LinkFailed(str(error)))

    def _serve_one_socket(self) -> None:
        """Use one socket until the hub falls silent, another run is to be followed, or the end."""
        run_id = self._state.run_id
        link = DashboardLink(self._lead or run_places(run_id).dashboard_socket)
        self._opened_s, self._pulled_s = time.monotonic(), 0.0
        try:
            while not self._closing.is_set() and self._state.run_id == run_id:
                self._pass_commands(link)
                self._pull_when_due(link)
                message = link.receive(_POLL_MS)
                if message is not None:
                    self._take(message)
                elif self._note_silence():
                    return
        finally:
            link.close()

    def _pull_when_due(self, link: DashboardLink) -> None:
        """Ask again once the last pull was answered; a pull without an answer waits for the socket's end."""
        now = time.monotonic()
        answered = self._heard_s >= self._pulled_s
        suits_s = _PULL_S if len(self._state.ranks) <= _FEW_RANKS else _PULL_MANY_S
        period_s = suits_s if self._period_s is None else self._period_s
        other = self._closer != self._told_closer and len(self._state.ranks) > MANY_RANKS
        if answered and now - self._pulled_s >= (_PULL_CLOSER_S if other else period_s):
            self._pulled_s, self._told_closer = now, self._closer
            link.pull(self._told_closer)

    def _pass_commands(self, link: DashboardLink) -> None:
        while True:
            try:
                command, run_id = self._commands.get_nowait()
            except queue.Empty:
                return
            if self._read_only and not isinstance(command, _HARMLESS):
                reason = "read-only: this dashboard changes nothing"
            elif run_id not in (None, self._state.run_id, run_of(self._state)):
                reason = f"{run_of(self._state)} has replaced that run: nothing was done"
            elif self._state.connected:
                link.command(command)
                continue
            else:
                reason = "the run has ended" if self._state.ended else "the run's hub does not answer"
            self._post(CommandAnswered(Answer(command_id=command.command_id, accepted=False, reason=reason)))

    def _take(self, message: ToDashboard) -> None:
        if isinstance(message, Update):
            self._heard_s = time.monotonic()
            before, self._state = self._state, apply(self._state, message)
            self._past = remembered(self._past, before, self._state)
            self._follow()
            self._post(StateChanged(self._state, self._past))
        elif isinstance(message, Answer):
            self._post(CommandAnswered(message))
        elif isinstance(message, Done):
            self._post(CommandDone(message))

    def _follow(self) -> None:
        """Go on to the run that replaced this one, once nothing more is to be learnt here."""
        header, relaunch = self._state.header, self._state.relaunch
        if header is None or header.successor is None or header.replay or self._lead is not None:
            return
        if relaunch is None or relaunch.state in ("done", "failed"):
            self._state = followed(self._state, header.successor)

    def _note_silence(self) -> bool:
        """Say how long the hub has been silent; True when it is time for a fresh socket."""
        now = time.monotonic()
        if now - self._heard_s < _SILENT_S:
            return False
        header = self._state.header
        if header is not None and header.successor is not None and not (header.replay or self._lead):
            self._state = followed(self._state, header.successor)
            self._heard_s = now
        elif now - self._heard_s - self._state.silent_s >= 1.0 or self._state.connected:
            self._state = silent(self._state, now - self._heard_s)
            self._post(StateChanged(self._state, self._past))
        return now - self._opened_s >= _RETRY_S
