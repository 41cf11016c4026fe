"""Which process speaks for which rank: where several claim one rank, one is shown and none are mixed.

A script may train in several processes that nothing numbers (Hogwild, a sweep): each takes itself for rank 0.
"""

from collections.abc import Callable

from perftui.ipc.messages import Hello, RankMessage
from perftui.ipc.rank_link import rank_identity
from perftui.trainer.hub.rank_track import RankTrack

_RIVALS_KEPT = 1024
_AFTER_END_S = 5.0


class Seats:
    """One seat a rank; held by a peer until its process ends.

    Args:
        lives: whether the process of a track still runs.
        host: this one; ranks of others have their host's name in theirs.
        now: unix time, by the clock by which tracks were last heard.
    """

    def __init__(self, lives: Callable[[RankTrack], bool], host: str, now: Callable[[], float]) -> None:
        self._lives = lives
        self._host = host
        self._now = now
        self._held: dict[int, tuple[bytes, RankTrack | None]] = {}
        self._rivals: dict[bytes, float] = {}
        """Peers that are not shown, and when they last spoke."""

    def peer(self, rank: int) -> bytes | None:
        """Return who speaks for a rank."""
        held = self._held.get(rank)
        return held[0] if held else None

    def may_speak(self, peer: bytes, message: RankMessage, track: RankTrack | None) -> bool | None:
        """Tell whether a frame counts; None: its sender must say hello first.

        Args:
            peer: who sent it.
            message: what it says.
            track: what is known of its rank so far.
        """
        if self.peer(message.rank) == peer:
            return True
        if isinstance(message, Hello):
            return self._greet(peer, message, track)
        if message.rank not in self._held and track is not None and peer == self._peer_of(track.hello):
            self._held[message.rank] = (peer, track)  # this hub was started again
            return True
        if self._is_taken(peer, message.rank, track):
            self._note_rival(peer)
            return False
        return None

    def _greet(self, peer: bytes, hello: Hello, track: RankTrack | None) -> bool:
        same = track is not None and track.hello.process == hello.process
        if not same and self._is_taken(peer, hello.rank, track):
            self._note_rival(peer)
            return False
        for rank, (_, holder) in list(self._held.items()):
            if rank != hello.rank and holder is not None and holder.hello.process == hello.process:
                del self._held[rank]  # it has learnt its rank only now
        self._rivals.pop(peer, None)
        self._held[hello.rank] = (peer, None)
        return True

    def note(self, peer: bytes, message: RankMessage, track: RankTrack | None) -> None:
        """A frame that counts was folded into `track`."""
        if isinstance(message, Hello):
            self._held[message.rank] = (peer, track)

    def _is_taken(self, peer: bytes, rank: int, track: RankTrack | None) -> bool:
        if track is None or rank not in self._held:
            return False
        if track.ended:  # processes that trained side by side end side by side: the one that was shown stays
            return peer in self._rivals and self._now() - track.last_unix < _AFTER_END_S
        return self._lives(track)

    def _peer_of(self, hello: Hello) -> bytes:
        if hello.host == self._host:
            return rank_identity(hello.rank, hello.pid).encode()
        return remote_peer(hello.host, hello.rank, hello.pid)

    def _note_rival(self, peer: bytes) -> None:
        now = self._now()
        self._rivals = {each: at for each, at in self._rivals.items() if now - at < _AFTER_END_S}
        if len(self._rivals) < _RIVALS_KEPT:
            self._rivals[peer] = now

    @property
    def message(self) -> str | None:
        """One line while processes are not shown; None while all are."""
        count = sum(self._now() - at < _AFTER_END_S for at in self._rivals.values())
        if not count:
            return None
        what = "process trains" if count == 1 else "processes train"
        return f"{count} more {what} under the number of a rank that is shown already; one a rank is shown"


def remote_peer(host: str, rank: int, pid: int) -> bytes:
    """Return the name under which a rank of another host is known here."""
    return f"@{host}/{rank_identity(rank, pid)}".encode()


def remote_host(peer: bytes) -> str | None:
    """Return the host of a rank's peer; None: it is this one."""
    return peer[1:].rpartition(b"/")[0].decode() if peer.startswith(b"@") else None
