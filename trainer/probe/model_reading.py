"""What is trained: size, types, devices and memory format of the parameters in all living optimizers."""

import time
from collections import Counter
from collections.abc import Sequence

import torch

from perftui.ipc.facts import ModelFacts
from perftui.ipc.units import MIB
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.optimizer_reading import count

_IMAGES = 4
_AT_ONCE = 64
_SHARDED = "DTensor"
_SAMPLED_TENSORS = 64
_SAMPLED_NUMBERS = 512


def read_model(
    optimizers: list[Foreign], scalers: list[Foreign], of_modules: Sequence[torch.Tensor] = ()
) -> ModelFacts:
    """Read every parameter once, however many optimizers have it.

    Args:
        optimizers: all that are alive.
        scalers: gradient scalers that are alive.
        of_modules: parameters and buffers of modules that are called; those that no optimizer has are looked
            at for denormal numbers alone.
    """
    parameters: dict[int, Foreign] = {
        id(tensor): tensor
        for optimizer in optimizers
        for group in list(optimizer.param_groups)
        for tensor in list(group["params"])
    }
    dtypes: Counter[str] = Counter()
    devices: Counter[str] = Counter()
    formats: Counter[bool] = Counter()
    size = sharded = 0
    for place, tensor in enumerate(parameters.values()):
        if place % _AT_ONCE == 0:
            time.sleep(0)  # lets the training thread in: there may be thousands
        numbers = count(tensor)
        dtypes[str(tensor.dtype).removeprefix("torch.")] += numbers
        devices[str(tensor.device)] += numbers
        size += numbers * tensor.dtype.itemsize
        sharded += type(tensor).__name__ == _SHARDED
        last = _channels_last(tensor)
        if last is not None:
            formats[last] += 1
    four_d = formats.total()
    frozen = list({id(tensor): tensor for tensor in of_modules if id(tensor) not in parameters}.values())
    return ModelFacts(
        tensors=len(parameters),
        parameters=dtypes.total(),
        mib=round(size / MIB, 2),
        dtypes=dict(dtypes),
        devices=dict(devices),
        four_d=four_d,
        channels_last=round(formats[True] / four_d, 3) if four_d else None,
        sharded=sharded,
        grad_scaler=any(scaler.is_enabled() for scaler in scalers),
        subnormal=_subnormal([*parameters.values(), *frozen]),
    )


def _subnormal(tensors: list[Foreign]) -> float | None:
    """Return the share of numbers on the CPU that are denormal, by samples; None where there are none."""
    numbers, tiny = 0, 0.0
    for tensor in tensors[:: max(1, len(tensors) // _SAMPLED_TENSORS)]:
        if tensor.device.type != "cpu" or tensor.dtype not in (torch.float32, torch.float64):
            continue
        if type(tensor).__name__ == _SHARDED or torch.nn.parameter.is_lazy(tensor) or not tensor.numel():
            continue
        flat = tensor.detach().reshape(-1)
        sample = flat[:: max(1, flat.numel() // _SAMPLED_NUMBERS)].abs()
        # compared as bit patterns: with denormals flushed, a comparison of values would not see them
        bits = sample.view(torch.int32 if sample.dtype == torch.float32 else torch.int64)
        denormal = int(((bits > 0) & (bits < _smallest_normal(sample.dtype))).sum())
        numbers += flat.numel()  # a few dead channels of a norm weigh little beside its layer
        tiny += flat.numel() * denormal / sample.numel()
    return round(tiny / numbers, 4) if numbers else None


def _smallest_normal(dtype: torch.dtype) -> int:
    """Return the bit pattern of the smallest number that is not denormal (IEEE 754)."""
    return 1 << (23 if dtype == torch.float32 else 52)


def _channels_last(tensor: Foreign) -> bool | None:
    """Return whether a tensor is in channels_last; None where it has not four dimensions or is in both."""
    if torch.nn.parameter.is_lazy(tensor) or tensor.dim() != _IMAGES:
        return None
    last = bool(tensor.is_contiguous(memory_format=torch.channels_last))
    return None if last and tensor.is_contiguous() else last  # a 1x1 kernel looks the same both ways
