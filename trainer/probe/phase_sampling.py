"""Which steps are looked at in detail, and the looking: copies to the device, device times, communication.

Apart from the recorder because it costs: a hundred microseconds for a step that is sampled. So one step of
many is, as many as the budget allows; all of them on request.
"""

import os
from time import perf_counter_ns

import torch

from perftui.trainer.probe.border import Border, Foreign
from perftui.trainer.probe.device_track import NO_COPY, DeviceTrack
from perftui.trainer.probe.gradient_syncs import GradientSyncs
from perftui.trainer.probe.live_objects import live_objects
from perftui.trainer.probe.stamps import (
    BACKWARD_BEGIN,
    BACKWARD_END,
    COMM_BEGIN,
    FETCH_BEGIN,
    FETCH_END,
    H2D_BEGIN,
    H2D_END,
    OPTIMIZER_BEGIN,
    OPTIMIZER_END,
    SAMPLED,
    UNKNOWN_CPU,
    StampRing,
)
from perftui.trainer.probe.transfer_watch import TransferWatch

VARIABLE = "PERFTUI_PHASES"
"""`all`: every step. `off`: none. A number: one step of so many. Otherwise as the budget allows."""
BUDGET_SHARE = 0.0005
"""Of the step's wall time, on average over all steps."""
BUDGET_MIN_US = 3.0
FEWEST, FIRST, MOST = 5, 31, 997
"""Odd, so that what happens every second or fourth step is not always, or never, hit."""
_PHASES = frozenset((FETCH_BEGIN, FETCH_END, BACKWARD_BEGIN, BACKWARD_END, OPTIMIZER_BEGIN, OPTIMIZER_END))
_NEVER = 1 << 62


def wanted_stride(text: str) -> int | None:
    """Return one step of how many the environment asks for, 0 for none; None to leave it to the budget."""
    if text == "all":
        return 1
    if text == "off":
        return 0
    return int(text) if text.isdigit() and int(text) > 0 else None


def stride_within(cost_us: float, step_us: float) -> int:
    """Return one step of how many may be sampled.

    Args:
        cost_us: what sampling one step costs.
        step_us: wall time of a step.
    """
    budget_us = max(BUDGET_MIN_US, BUDGET_SHARE * step_us)
    return min(MOST, max(FEWEST, round(cost_us / budget_us) | 1))


class PhaseSampling:
    """Lives in the training thread; the agent sets `stride` and takes `device.ready`.

    Attributes:
        next_at: number of batches from which a fetch is worth a call of `at_step`.
        on: the step that runs is sampled.
    """

    def __init__(self, ring: StampRing, border: Border) -> None:
        self.device = DeviceTrack()
        self.wanted = wanted_stride(os.environ.get(VARIABLE, ""))
        self._border = border
        self._ring = ring
        self._transfers = TransferWatch(border, self._transfer_begin, self._transfer_end)
        self._inherited: list[DeviceTrack] = []
        """What a forked child has of its parent and must not free: events of a device it must not touch."""
        self._start()

    def _start(self) -> None:
        self.on = False
        self.syncs = GradientSyncs()
        self.stride = FIRST if self.wanted is None else self.wanted
        self.next_at = 0 if self.stride else _NEVER
        self.sampled = 0
        self.spent_ns = 0
        """Time of the training thread in `sampled` steps, for what they have more than others."""
        self._due = 0
        self._on_cuda = False
        self._last = FETCH_BEGIN

    def forget(self) -> None:
        """Start from nothing and leave torch as it was: in a forked child."""
        self._transfers.end()
        self._inherited.append(self.device)
        self.device = DeviceTrack()
        self._start()

    def at_step(self, batches: int, at_ns: int, device: torch.device | None, *, fetched: bool) -> None:
        """A step begins: end the sampled one, ask after those before, begin another if it is time to.

        Args:
            batches: how many batches there were.
            at_ns: now.
            device: the one that trains; None before it is known.
            fetched: the step begins with a fetch, so that the step clock knows of it by now.
        """
        began_ns = perf_counter_ns()
        whole = False
        try:
            self._turn(batches, at_ns, device, fetched=fetched)
            whole = True
        finally:
            if not whole:
                self._give_up()
        self.spent_ns += perf_counter_ns() - began_ns

    def _turn(self, batches: int, at_ns: int, device: torch.device | None, *, fetched: bool) -> None:
        if self.on:
            if self._on_cuda:
                self.device.mark(FETCH_BEGIN)
                self.device.end()
            self.on = False
            self.syncs.step_ends()
            if self.stride != 1:
                self._transfers.end()
        if self.device.waiting:
            self.device.resolve()
        if batches >= self._due and device is not None:
            self._due = batches + self.stride if self.stride else _NEVER
            self._begin(at_ns, device, fetched=fetched)
        self.next_at = 0 if self.on or self.device.waiting else self._due

    def leave_out(self) -> None:
        """What was taken for a step turns out to be none: nothing is told of it."""
        self.on = False
        self.syncs.leave_out()
        if self.stride != 1:
            self._transfers.end()

    def _give_up(self) -> None:
        """A device that cannot be followed is not asked again, and torch is left as it was."""
        self._transfers.end()
        self.on = False
        self._due = self.next_at = _NEVER

    def _begin(self, at_ns: int, device: torch.device, *, fetched: bool) -> None:
        cuda: Foreign = torch.cuda
        self._on_cuda = device.type == "cuda" and bool(cuda.is_initialized())
        if not self._on_cuda and not live_objects.ddp.all():
            self._due += MOST  # the ordinary stamps say all there is; ask again, but seldom
            return
        self.on = True
        self.sampled += 1
        self._last = FETCH_BEGIN
        watched = self._on_cuda and self._transfers.begin(always=self.stride == 1)
        if fetched:
            self._ring.put(SAMPLED, at_ns, UNKNOWN_CPU, int(watched))
        if self._on_cuda:
            self.device.begin(at_ns, device)
            self.device.mark(FETCH_BEGIN)

    def mark(self, code: int) -> None:
        """The sampled step has come to a stamp."""
        if code in _PHASES:
            self._last = code
        if self._on_cuda:
            began_ns = perf_counter_ns()
            self.device.mark(code)
            self.spent_ns += perf_counter_ns() - began_ns

    def _transfer_begin(self) -> None:
        self._ring.put(H2D_BEGIN, perf_counter_ns(), UNKNOWN_CPU, int(self._last == FETCH_END))
        self.mark(H2D_BEGIN)

    def _transfer_end(self, copied: bool) -> None:
        self._ring.put(H2D_END, perf_counter_ns(), UNKNOWN_CPU, int(copied))
        self.mark(H2D_END if copied else NO_COPY)

    def follow_backward(self, root: Foreign) -> None:
        """Have the end of the backward's own work stamped: what comes after it is exposed communication.

        A callback queued by the first gradient runs before the one in which DDP waits for its buckets.
        """
        first: Foreign = root[0] if _is_row(root) and root else root
        modules = live_objects.ddp.all()
        if not isinstance(first, torch.Tensor) or not first.requires_grad or not modules:
            return
        self.syncs.backward(modules)
        engine: Foreign = torch.autograd.Variable._execution_engine

        def computed() -> None:  # in whatever thread ends the backward; the training thread waits for it
            self._ring.put(COMM_BEGIN, perf_counter_ns(), UNKNOWN_CPU, 0)
            self.mark(COMM_BEGIN)

        def at_first_gradient(_gradient: torch.Tensor) -> None:
            handle.remove()
            engine.queue_callback(self._border.guard("communication", computed))

        register: Foreign = first.register_hook
        handle: Foreign = register(self._border.guard("first gradient", at_first_gradient))


def _is_row(root: Foreign) -> bool:
    return isinstance(root, (list, tuple))
