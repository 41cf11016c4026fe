"""The loss without a synchronisation: every tenth step the root of the backward is copied, and read later.

On a device the copy goes to page-locked memory and an event tells when it is there. The event is asked in the
training thread, never in another one: a query from elsewhere would break a CUDA graph capture.
"""

from collections import deque
from typing import Any

import torch

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.scaled_losses import mark_scaled, scale_of

EVERY_BATCHES = 10
_KEPT = 64
"""Values that nobody takes while the hub is away."""


def _is_row(root: Foreign) -> bool:
    return isinstance(root, (list, tuple))


def _only(root: Foreign) -> Foreign:
    return root[0] if _is_row(root) and root else root


def _unscaled(value: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Divide on the device; in float32, as fp16 would round, or be infinite, where the scale is taken off."""
    return value.float() / scale.to(value.device, non_blocking=True)


class LossSampler:
    """Keeps the newest loss of the training thread.

    Attributes:
        unscaled: the loss itself, while what scales it goes backward from its product; else None.
    """

    def __init__(self) -> None:
        self.unscaled: Foreign = None
        self._due = 0
        self._pending: tuple[int, torch.device, Any] | None = None
        """(at_ns, device, event that tells when its loss is in the page-locked memory)."""
        self._pinned: torch.Tensor | None = None
        self._scaled = False
        """Something scales: without that the graph is not looked at."""
        self.ready: deque[tuple[int, float]] = deque(maxlen=_KEPT)
        """(at_ns, value), for the agent to take."""

    def sample(self, batches: int, at_ns: int, root: Foreign) -> int:
        """Look at the root of a backward, if it is time to.

        Args:
            batches: how many the training thread has fetched: every tenth counts.
            at_ns: now.
            root: what the backward starts from.

        Returns:
            The number of batches before which there is nothing to do.
        """
        if self._pending is not None:
            self._resolve()
        if batches >= self._due and self._pending is None:
            self._due = batches + EVERY_BATCHES
            self._take(at_ns, _only(root if self.unscaled is None else self.unscaled))
        return self._due if self._pending is None else 0

    def note_scaled(self, scaler: Foreign, scaled: Foreign) -> None:
        """A GradScaler has returned this, and the next backward is looked at."""
        self.expect_scaled()
        mark_scaled(scaler, scaled)

    def expect_scaled(self) -> None:
        """From now on losses may carry the scale that they were multiplied by."""
        self._scaled = True

    def _take(self, at_ns: int, root: Foreign) -> None:
        if not isinstance(root, torch.Tensor) or root.numel() != 1:
            return
        scale = scale_of(root) if self._scaled else None
        if root.device.type == "cpu":
            value = float(root.detach())
            if scale is None or scale.is_cpu:  # from a device it would have to be waited for
                self.ready.append((at_ns, value if scale is None else value / float(scale)))
        elif root.device.type == "cuda":
            with torch.cuda.device(root.device):  # which need not be the current one
                if not torch.cuda.is_current_stream_capturing():
                    loss = root.detach()
                    self._copy(at_ns, loss if scale is None else _unscaled(loss, scale))

    def _copy(self, at_ns: int, value: torch.Tensor) -> None:
        """Have a value copied, and an event on the stream that copies it: that of the current device."""
        if self._pinned is None:
            self._pinned = torch.empty(1, dtype=torch.float32, pin_memory=True)
        self._pinned.copy_(value.reshape(1), non_blocking=True)
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record()
        self._pending = (at_ns, value.device, event)

    def _resolve(self) -> None:
        if self._pending is None or self._pinned is None:
            return
        at_ns, device, event = self._pending
        with torch.cuda.device(device):
            there = not torch.cuda.is_current_stream_capturing() and event.query()
        if there:
            self._pending = None
            self.ready.append((at_ns, float(self._pinned[0])))
