"""Whole steps in a CUDA graph that the script captures itself: each replay of such a graph is a step.

Apart from the other hooks because the step is seen but once, while it is captured: torch's hooks run then,
and nothing is done. So the capture leaves no stamps, and the graph remembers whether an optimizer stepped
into it.
"""

import functools
from collections.abc import Callable
from threading import get_ident
from typing import Any

import torch

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.elsewhere import NOBODY
from perftui.trainer.probe.late_steps import replayed
from perftui.trainer.probe.recorder import Recorder

_KEY = "_perftui_optimizer"


class _Captures:
    """Hides captures from the hooks; one at a time, as torch has it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._trainer = 0

    def begins(self) -> None:
        recorder, here = self._recorder, get_ident()
        if recorder.trainer in (0, here):
            self._trainer, recorder.trainer = recorder.trainer, NOBODY
            recorder.elsewhere.capturing, recorder.elsewhere.captured = here, 0

    def ends(self, graph: Foreign) -> None:
        recorder, elsewhere = self._recorder, self._recorder.elsewhere
        if elsewhere.capturing != get_ident():
            return
        recorder.trainer = self._trainer
        captured, elsewhere.capturing, elsewhere.captured = elsewhere.captured, 0, 0
        setattr(graph, _KEY, captured)


def patch_graphs(recorder: Recorder) -> None:
    """Note what is captured and when it is replayed."""
    kind: Foreign = torch.cuda.CUDAGraph
    begin: Callable[..., Any] = kind.capture_begin
    end: Callable[..., Any] = kind.capture_end
    play: Callable[..., Any] = kind.replay
    captures = _Captures(recorder)
    begins = recorder.border.guard("capture", captures.begins)
    ends = recorder.border.guard("capture end", captures.ends)
    note = recorder.border.guard("replay", replayed)

    @functools.wraps(begin)
    def capture_begin(self: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        begin(self, *args, **kwargs)
        begins()

    @functools.wraps(end)
    def capture_end(self: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        ends(self)
        end(self, *args, **kwargs)

    @functools.wraps(play)
    def replay(self: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        play(self, *args, **kwargs)
        key = getattr(self, _KEY, 0)
        if key:
            note(recorder, key)

    kind.capture_begin, kind.capture_end, kind.replay = capture_begin, capture_end, replay
