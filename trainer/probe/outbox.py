"""What waits to be sent: bounded, oldest steps dropped first, events kept longer. Never blocks.

Apart from the agent so that the order, the numbering and the counting of losses stand in one place.
"""

from collections import deque

import msgspec

from perftui.ipc.errors import ProtocolError
from perftui.ipc.messages import FromRank, StepBatch
from perftui.ipc.rank_link import RankLink

BATCHES_KEPT = 128
OTHERS_KEPT = 1024
_UNSAYABLE = (TypeError, ValueError, OverflowError, ProtocolError)
"""What encoding raises for what no frame can say: an integer beyond 64 bits, a message beyond a frame."""


class Outbox:
    """Filled from any thread; sent by the agent's.

    Attributes:
        dropped: steps that were lost because the hub was away or slow, or because they cannot be told.
        unsayable: messages that no frame can say: they are left out, so that they stop no other.
    """

    def __init__(self, run_id: str, host: str) -> None:
        self.dropped = 0
        self.unsayable = 0
        self._run_id = run_id
        self._host = host
        self._seq = 0
        self._batches: deque[StepBatch] = deque()
        self._others: deque[FromRank] = deque(maxlen=OTHERS_KEPT)

    def post(self, message: FromRank) -> None:
        """Put a message into line."""
        if not isinstance(message, StepBatch):
            self._others.append(message)
            return
        self._batches.append(message)
        while len(self._batches) > BATCHES_KEPT:
            self.dropped += len(self._batches.popleft().end_ns)

    def send(self, link: RankLink, rank: int) -> bool:
        """Send what the link takes; True when something has left the line."""
        sent = False
        while self._others and self._try(link, self._others[0], rank):
            self._others.popleft()
            sent = True
        while not self._others and self._batches:
            batch = msgspec.structs.replace(self._batches[0], dropped=self.dropped)
            if not self._try(link, batch, rank):
                break
            self._batches.popleft()
            sent = True
        return sent

    def send_now(self, link: RankLink, message: FromRank, rank: int) -> bool:
        """Send one message before all that waits."""
        return self._try(link, message, rank)

    def _try(self, link: RankLink, message: FromRank, rank: int) -> bool:
        stamped = msgspec.structs.replace(
            message, run_id=self._run_id, host=self._host, rank=rank, seq=self._seq
        )
        try:
            if not link.send(stamped):
                return False
        except _UNSAYABLE:
            self.unsayable += 1
            self.dropped += len(message.end_ns) if isinstance(message, StepBatch) else 0
            return True
        self._seq += 1
        return True
