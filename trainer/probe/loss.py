"""The loss without a synchronisation: every tenth step the root of the backward is copied, and read later.

On a device the copy goes to page-locked memory and an event tells when it is there. The event is asked in the
training thread, never in another one: a query from elsewhere would break a CUDA graph capture.
"""

from typing import Any

import torch

from perftui.trainer.probe.border import Foreign

EVERY_STEPS = 10
_KEPT = 64
"""Values that nobody takes while the hub is away."""


def _is_row(root: Foreign) -> bool:
    return isinstance(root, (list, tuple))


def _only(root: Foreign) -> Foreign:
    return root[0] if _is_row(root) and root else root


class LossSampler:
    """Keeps the newest loss of the training thread."""

    def __init__(self) -> None:
        self._asked_step = -1
        self._pending: tuple[int, torch.Tensor, Any] | None = None
        self._pinned: torch.Tensor | None = None
        self.ready: list[tuple[int, float]] = []
        """(step, value), for the agent to take; a handful at most."""

    def sample(self, step: int, root: Foreign) -> None:
        """Look at the root of a backward; called at each backward, works at the first of every tenth step."""
        if self._pending is not None:
            self._resolve()
        if step == self._asked_step or step % EVERY_STEPS or self._pending is not None:
            return
        root = _only(root)
        if not isinstance(root, torch.Tensor) or root.numel() != 1:
            return
        self._asked_step = step
        if root.device.type == "cpu":
            self._keep(step, float(root.detach()))
        elif root.device.type == "cuda" and not torch.cuda.is_current_stream_capturing():
            self._copy(step, root.detach())

    def _copy(self, step: int, value: torch.Tensor) -> None:
        if self._pinned is None:
            self._pinned = torch.empty(1, dtype=torch.float32, pin_memory=True)
        self._pinned.copy_(value.reshape(1), non_blocking=True)
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record()
        self._pending = (step, self._pinned, event)

    def _resolve(self) -> None:
        if self._pending is None or torch.cuda.is_current_stream_capturing():
            return
        step, pinned, event = self._pending
        if event.query():
            self._pending = None
            self._keep(step, float(pinned[0]))

    def _keep(self, step: int, value: float) -> None:
        if len(self.ready) < _KEPT:
            self.ready.append((step, value))

    def take(self) -> list[tuple[int, float]]:
        """Return what is ready, and forget it."""
        taken, self.ready = self.ready, []
        return taken
