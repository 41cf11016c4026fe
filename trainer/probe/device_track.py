"""CUDA events round the phases of a sampled step, on the stream the step runs on.

Apart because only here the device is touched: events are recorded and, steps later, asked; never waited for.
Always the device that trains, which need not be the current one: to touch another would make a context there,
and its stream has nothing of the step. Likewise always the stream from which the backward is called: a
prefetcher may make another one the current one, to fetch and to copy there meanwhile.
All of it in the training thread: from elsewhere a query would break a CUDA graph capture.
"""

from collections import deque
from itertools import pairwise
from typing import Any, TypeAlias

import torch

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.stamps import BACKWARD_BEGIN, H2D_BEGIN, H2D_END

MARKS_MAX = 128
"""A step with more phases than this (a long validation inside it) is given up."""
_UNRESOLVED_MAX = 16
NO_COPY = -H2D_END
"""Mark of a call that looked like a copy to the device and was none."""
_COPIES = frozenset((H2D_BEGIN, H2D_END, NO_COPY))

Marks: TypeAlias = list[tuple[int, float]]
"""(code of a stamp, milliseconds until the next mark) along a step; the last has none and is left out."""


class DeviceTrack:
    """The events of the step that is being sampled, and of those before it that the device has not reached.

    Attributes:
        ready: (at_ns of the step's first stamp, marks), for the agent to take.
    """

    def __init__(self) -> None:
        self.ready: deque[tuple[int, Marks]] = deque(maxlen=1024)
        self._device: torch.device | None = None
        """Of the events."""
        self._stream: Any = None
        """The one that trains, as far as it is known."""
        self._at_ns = 0
        self._codes: list[int] = []
        self._events: list[Any] = []
        self._waiting: deque[tuple[int, list[int], list[Any]]] = deque()
        self._spare: list[Any] = []

    @property
    def waiting(self) -> bool:
        """Whether the device has still to reach the end of a sampled step."""
        return bool(self._waiting)

    def begin(self, at_ns: int, device: torch.device) -> None:
        """A step begins that is to be followed on this device."""
        if device != self._device:  # an event stays on the device on which it was first recorded
            self._device = device
            self._stream = None
            self._events, self._spare = [], []
            self._waiting.clear()
        self._at_ns = at_ns
        self._spare += self._events
        self._codes, self._events = [], []

    def mark(self, code: int) -> None:
        """Note that the stream that trains has come to this stamp.

        Nothing while a CUDA graph is captured, and nothing of copies that go to another stream: what trains
        does not stand still for them.
        """
        if len(self._codes) >= MARKS_MAX:
            return
        with torch.cuda.device(self._device):
            if torch.cuda.is_current_stream_capturing():
                return
            current: Foreign = torch.cuda.current_stream()
            if self._stream is None or code == BACKWARD_BEGIN:
                self._stream = current
            elif code in _COPIES and current != self._stream:
                return
            make: Foreign = torch.cuda.Event
            event: Foreign = self._spare.pop() if self._spare else make(enable_timing=True)
            event.record(self._stream)
        self._codes.append(code)
        self._events.append(event)

    def end(self) -> None:
        """The step is over: its last mark was the beginning of the next one."""
        if 1 < len(self._codes) < MARKS_MAX and len(self._waiting) < _UNRESOLVED_MAX:
            self._waiting.append((self._at_ns, self._codes, self._events))
            self._codes, self._events = [], []

    def resolve(self) -> None:
        """Take in what the device has finished; a question to it, never a wait."""
        if self._waiting:
            with torch.cuda.device(self._device):
                self._resolve()

    def _resolve(self) -> None:
        while self._waiting and not torch.cuda.is_current_stream_capturing():
            at_ns, codes, events = self._waiting[0]
            if not events[-1].query():
                return
            self._waiting.popleft()
            spans = [begin.elapsed_time(end) for begin, end in pairwise(events)]
            self._spare += events
            self.ready.append((at_ns, list(zip(codes, spans, strict=False))))
