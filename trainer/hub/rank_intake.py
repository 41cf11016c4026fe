"""How a rank's message comes in, from this host or another: who may speak for a rank, who must say hello."""

import os
import time
from collections.abc import Callable

from perftui.ipc.messages import PROTOCOL_VERSION, AskHello, FromRank, Hello, ToRank, Welcome
from perftui.ipc.recording import Entry
from perftui.trainer.hub.file_limit import make_room
from perftui.trainer.hub.live_run import LiveRun
from perftui.trainer.hub.seats import Seats

_ASK_AGAIN_S = 1.0
_ASKED_KEPT = 4096


class RankIntake:
    """Takes messages in for one run.

    Args:
        run: the run.
        tell: sends an order to a peer.
    """

    def __init__(self, run: LiveRun, tell: Callable[[bytes, ToRank], object]) -> None:
        self._run = run
        self._tell = tell
        self._asked: dict[bytes, float] = {}
        self.seats = Seats(run.lives, run.description.host, run.now)

    def take(self, peer: bytes, message: FromRank, unix: float) -> None:
        """Take one message in, or ask its sender for a hello.

        Args:
            peer: who sent it.
            message: of the run; whoever calls has made sure of that.
            unix: when it was heard.
        """
        if isinstance(message, Hello):
            make_room(message.world_size)
            self._tell(peer, Welcome(protocol=PROTOCOL_VERSION, hub_pid=os.getpid()))
            message = self._run.by_own_clock(message)
        ranks = self._run.fold.ranks
        counts = self.seats.may_speak(peer, message, ranks.get(message.rank))
        if counts and self._run.hear(Entry(unix=unix, message=message)):
            self.seats.note(peer, message, ranks.get(message.rank))
        elif counts is not False:
            self._ask_hello(peer)

    def _ask_hello(self, peer: bytes) -> None:
        now = time.monotonic()
        if now - self._asked.get(peer, 0.0) >= _ASK_AGAIN_S:
            if len(self._asked) >= _ASKED_KEPT:
                self._asked.clear()
            self._asked[peer] = now
            self._tell(peer, AskHello())
