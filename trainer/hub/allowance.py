"""How many frames and bytes each peer may send: a bucket a peer, refilled by a clock that is given. Pure."""

from dataclasses import dataclass

from perftui.ipc.units import MIB

_PEERS_KEPT = 4096


@dataclass(frozen=True)
class Rate:
    """What one peer may send for good, and at once."""

    frames_per_s: float
    frames_at_once: float
    bytes_per_s: float
    bytes_at_once: float


OF_A_RANK = Rate(frames_per_s=500.0, frames_at_once=4096.0, bytes_per_s=4.0 * MIB, bytes_at_once=64.0 * MIB)
"""A rank sends some 20 frames a second; after a hub's absence 1,152 that it has kept, at once."""
OF_A_HOST = Rate(frames_per_s=200.0, frames_at_once=4096.0, bytes_per_s=16.0 * MIB, bytes_at_once=64.0 * MIB)
"""Another host's hub sends some 12 frames a second; after a cut what it has kept, 16 MiB at most."""
OF_A_COMMAND = Rate(frames_per_s=20.0, frames_at_once=100.0, bytes_per_s=1.0 * MIB, bytes_at_once=4.0 * MIB)
"""Commands and questions of one dashboard; pulls have a bound of their own (`DashboardServer`)."""


@dataclass
class _Bucket:
    frames: float
    bytes: float
    seen_s: float


class Allowance:
    """The buckets of all peers of one socket; of too many those that have been silent longest are forgotten.

    Args:
        rate: of each peer.

    Attributes:
        refused: frames that were beyond it.
    """

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets: dict[bytes, _Bucket] = {}
        self.refused = 0

    def take(self, peer: bytes, frame_bytes: int, now_s: float) -> bool:
        """Return whether a peer may send this frame now, and count it."""
        rate, bucket = self._rate, self._buckets.pop(peer, None)
        if bucket is None:
            bucket = _Bucket(rate.frames_at_once, rate.bytes_at_once, now_s)
            if len(self._buckets) >= _PEERS_KEPT:
                del self._buckets[next(iter(self._buckets))]
        self._buckets[peer] = bucket  # last, as the one that spoke last
        passed_s, bucket.seen_s = max(0.0, now_s - bucket.seen_s), now_s
        bucket.frames = min(rate.frames_at_once, bucket.frames + passed_s * rate.frames_per_s)
        bucket.bytes = min(rate.bytes_at_once, bucket.bytes + passed_s * rate.bytes_per_s)
        if bucket.frames < 1.0 or bucket.bytes < frame_bytes:
            self.refused += 1
            return False
        bucket.frames -= 1.0
        bucket.bytes -= frame_bytes
        return True
