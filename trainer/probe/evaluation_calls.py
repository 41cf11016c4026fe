"""The call by which a script sets its model to evaluate: `eval()` of a module that was in training mode.

Apart from the other hooks because it is no event of a step: it says that something may be evaluated, and
`evaluations` whether that was so. `eval()` is called once for a whole model, unlike `train()`, by which it
goes on to each part: so that one is left alone.
"""

import functools
import sys
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from types import FrameType

import torch

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.model_calls import acts, is_trainable
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.stamps import EVALUATES, UNKNOWN_CPU
from perftui.trainer.probe.untraced import untraced

_CALLERS = 6


def patch_eval(recorder: Recorder) -> None:
    """Wrap `torch.nn.Module.eval`."""
    kind: Foreign = torch.nn.Module
    original: Callable[..., Foreign] = kind.eval
    note = recorder.border.guard("eval", _note)

    @untraced
    @functools.wraps(original)
    def evaluate(self: Foreign) -> Foreign:
        if getattr(self, "training", False) and get_ident() == recorder.trainer:
            note(recorder, self, sys._getframe(1))
        return original(self)

    kind.eval = evaluate


def _note(recorder: Recorder, module: torch.nn.Module, caller: FrameType) -> None:
    if torch.compiler.is_compiling() or not is_trainable(module) or acts(_names(caller)):
        return
    if recorder.sleep.due:
        recorder.wake_up()
    recorder.ring.put(EVALUATES, perf_counter_ns(), UNKNOWN_CPU, 0)


def _names(frame: FrameType | None) -> list[str]:
    names: list[str] = []
    while frame is not None and len(names) < _CALLERS:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names
