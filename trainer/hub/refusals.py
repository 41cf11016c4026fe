"""What the hub did not take from its peers, counted by reason, and told for a while after the newest."""

from collections import Counter
from typing import Literal, TypeAlias

Reason: TypeAlias = Literal["unreadable", "of another run", "too many"]
_TOLD_S = 60.0


class Refusals:
    """Counts; times are monotonic seconds that are passed in."""

    def __init__(self) -> None:
        self.counts: Counter[Reason] = Counter()
        self._newest_s: float | None = None

    def note(self, reason: Reason, now_s: float) -> None:
        """Count one frame."""
        self.counts[reason] += 1
        self._newest_s = now_s

    def message(self, now_s: float) -> str | None:
        """Return one line; None while none was refused lately."""
        if self._newest_s is None or now_s - self._newest_s > _TOLD_S:
            return None
        told = ", ".join(f"{count:,} {reason}" for reason, count in sorted(self.counts.items()))
        what = "frame was" if sum(self.counts.values()) == 1 else "frames were"
        return f"{sum(self.counts.values()):,} {what} not taken: {told}"
