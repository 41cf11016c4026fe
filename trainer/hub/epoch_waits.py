"""The loader wait of the first epochs of a run, in sums: kept for good, where the steps are not."""

from collections.abc import Iterable

from perftui.ipc.messages import FLAG_EPOCH_START, FLAG_WAIT_UNKNOWN, UNUSUAL_FLAGS
from perftui.ipc.step_record import StepRecord
from perftui.trainer.diagnosis.signals import EpochWait

EPOCHS_KEPT = 16
_LEFT_OUT = UNUSUAL_FLAGS | FLAG_WAIT_UNKNOWN | FLAG_EPOCH_START


class EpochWaits:
    """Sums of each epoch from the first on; heads of epochs, the warm-up and unusual steps left out."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[int, int, int]] = {}
        """Epoch → steps, wall and wait in ns."""

    def add(self, rows: Iterable[StepRecord]) -> None:
        """Take steps in, those of the warm-up left out by who calls."""
        for row in rows:
            if row.epoch >= EPOCHS_KEPT or row.flags & _LEFT_OUT:
                continue
            steps, wall, wait = self._sums.get(row.epoch, (0, 0, 0))
            self._sums[row.epoch] = (steps + 1, wall + row.wall_ns, wait + row.wait_ns)

    def all(self) -> tuple[EpochWait, ...]:
        """Return them, the first epoch first."""
        return tuple(
            EpochWait(epoch=epoch, steps=steps, wall_ms=wall / 1e6, wait_ms=wait / 1e6)
            for epoch, (steps, wall, wait) in sorted(self._sums.items())
        )
