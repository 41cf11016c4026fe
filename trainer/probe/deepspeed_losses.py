"""DeepSpeed's own scaling of fp16 losses, undone for the loss that is told.

Apart from GradScaler's because DeepSpeed multiplies and goes backward in one call: there the loss is at hand
before it is scaled, exact, and the scale need not be known. What only multiplies is marked as there.
"""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from perftui.trainer.probe.after_import import after_import
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.scaled_losses import mark_with
from perftui.trainer.probe.untraced import untraced

_KINDS = {
    "deepspeed.runtime.fp16.loss_scaler": "LossScalerBase",
    "deepspeed.runtime.fp16.fused_optimizer": "FP16_Optimizer",
    "deepspeed.runtime.fp16.unfused_optimizer": "FP16_UnfusedOptimizer",
}
"""By module: what has a `backward(loss, …)` that scales; the same since DeepSpeed 0.3."""


def patch_deepspeed(recorder: Recorder) -> None:
    """Have the loss told as the script knows it, once DeepSpeed is imported."""

    def patch(kind_name: str, module: ModuleType) -> None:
        kind: Foreign = vars(module).get(kind_name)
        names: Foreign = () if kind is None else kind.__dict__
        if "backward" in names:
            _patch_backward(recorder, kind)
        if "scale_loss" in names:
            _patch_scale_loss(recorder, kind)

    guard = recorder.border.guard
    after_import(
        {
            module: guard("install deepspeed", functools.partial(patch, name))
            for module, name in _KINDS.items()
        }
    )


def _patch_backward(recorder: Recorder, kind: Foreign) -> None:
    original: Callable[..., Any] = kind.backward

    @untraced
    @functools.wraps(original)
    def backward(self: Foreign, loss: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
        sampler = recorder.loss
        sampler.unscaled = loss
        try:
            return original(self, loss, *args, **kwargs)
        finally:
            sampler.unscaled = None

    kind.backward = backward


def _patch_scale_loss(recorder: Recorder, kind: Foreign) -> None:
    original: Callable[..., Any] = kind.scale_loss

    def note(scaler: Foreign, scaled: Foreign) -> None:
        recorder.loss.expect_scaled()
        mark_with(scaled, torch.tensor(float(scaler.loss_scale)))

    note_safely = recorder.border.guard("loss scale", note)

    @untraced
    @functools.wraps(original)
    def scale_loss(self: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
        scaled = original(self, *args, **kwargs)
        if recorder.batches >= recorder.loss_at:
            note_safely(self, scaled)
        return scaled

    kind.scale_loss = scale_loss
