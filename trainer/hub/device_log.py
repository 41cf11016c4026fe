"""The newest sampled steps of a rank on the device's own timeline. Pure arithmetic, bounded."""

from collections import deque
from collections.abc import Iterable

from perftui.ipc.messages import DeviceSteps
from perftui.ipc.view import DeviceView
from perftui.trainer.hub.newest_steps import WARM_STEPS

_KEPT = 512


class DeviceLog:
    """Sampled steps, oldest first."""

    def __init__(self) -> None:
        self._rows: deque[tuple[int, tuple[float, ...]]] = deque(maxlen=_KEPT)

    def add(self, message: DeviceSteps) -> None:
        """Take sampled steps in."""
        columns = zip(
            message.total_ms,
            message.wait_ms,
            message.h2d_ms,
            message.forward_ms,
            message.backward_ms,
            message.comm_ms,
            message.optimizer_ms,
            message.other_ms,
            strict=True,
        )
        self._rows.extend(zip(message.step, columns, strict=True))

    def view(self, since_step: int = 0) -> DeviceView | None:
        """Return the means over the sampled steps from `since_step` on; None when there are none."""
        rows = [row for step, row in self._rows if step >= max(since_step, WARM_STEPS)]
        if not rows:
            return None
        total, wait, h2d, forward, backward, comm, optimizer, other = zip(*rows, strict=True)
        return DeviceView(
            sampled_steps=len(rows),
            step_ms=_mean(total),
            wait_ms=_mean_of_known(wait),
            h2d_ms=_mean_of_known(h2d),
            forward_ms=_mean_of_known(forward),
            backward_ms=_mean(backward),
            comm_exposed_ms=_mean_of_known(comm),
            optimizer_ms=_mean(optimizer),
            other_ms=_mean(other),
        )


def _mean(values: Iterable[float]) -> float:
    row = list(values)
    return sum(row) / len(row)


def _mean_of_known(values: Iterable[float]) -> float | None:
    known = [value for value in values if value >= 0]
    return sum(known) / len(known) if known else None
