"""`precision.autocast`: lower precision round the forward of the optimised module.

Outputs are widened to float32 again, as they would be in a script whose loss stands inside the autocast: a
loss in bfloat16 would be another training.
"""

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable

import torch
from torch import nn
from torch.utils import _pytree as pytree

from perftui.trainer.probe.altering.altered_call import Around, Call
from perftui.trainer.probe.altering.called_modules import (
    autocast_dtype,
    trained_numbers,
    under_ours,
)
from perftui.trainer.probe.border import Foreign

DTYPES: dict[str, torch.dtype] = {"bf16": torch.bfloat16, "fp16": torch.float16}
_BF16_CAPABILITY = (8, 0)


def name_of(dtype: torch.dtype | None) -> str | None:
    """Return a type's name among the values of the setting; `off` for None."""
    if dtype is None:
        return "off"
    return next((name for name, known in DTYPES.items() if known is dtype), None)


def why_not(device_type: str, dtype: torch.dtype, parameters: list[torch.dtype]) -> str | None:
    """Return why autocast to a type is not for such a module; None when it is.

    Args:
        device_type: of its parameters.
        dtype: to cast to.
        parameters: the types of its parameters.
    """
    if torch.float32 not in parameters:
        return f"the parameters are in {str(parameters[0]).removeprefix('torch.')} already"
    try:
        torch.autocast(device_type, dtype=dtype)
    except RuntimeError as error:
        return str(error)
    if device_type == "cuda" and dtype is torch.bfloat16:
        capability = torch.cuda.get_device_capability()
        if capability < _BF16_CAPABILITY and torch.version.hip is None:
            return f"this GPU has no bfloat16 units (compute capability {capability[0]}.{capability[1]})"
    return None


class Within:
    """Reads what autocast casts to where a part of the module computes: its forward may set another one."""

    def __init__(self, part: nn.Module | None, device_type: str) -> None:
        self._part, self._device_type = part, device_type
        self._handle: Foreign = None
        self.dtype = autocast_dtype(device_type)

    def __enter__(self) -> "Within":
        """Begin to read, at each call of the part."""
        if self._part is not None:
            self._handle = self._part.register_forward_pre_hook(self._read)
        return self

    def __exit__(self, *_error: object) -> None:
        """Leave no hook."""
        if self._handle is not None:
            self._handle.remove()

    def _read(self, _module: nn.Module, _inputs: Foreign) -> None:
        if torch.is_grad_enabled():
            self.dtype = autocast_dtype(self._device_type)


def where_most_is_trained(module: nn.Module) -> nn.Module | None:
    """Return the part that trains the most numbers; None where that is the module itself."""
    part = max(module.modules(), key=trained_numbers)
    return None if part is module else part


def under_autocast(
    device_type: str,
    dtype: torch.dtype,
    part: nn.Module | None,
    found: Callable[[str | None], None],
    wanted: Callable[[], bool],
) -> Around:
    """Return what puts a forward under autocast; forwards without gradients stay as they are.

    Args:
        device_type: of the module's parameters.
        dtype: to cast to.
        part: of the module, in which what is in force is read; None: round its forward alone.
        found: told once what was in force there, as a value of the setting.
        wanted: whether it still is: fp16 ends with the scaling of its losses.
    """
    told = False

    def around(own: Call, args: tuple[Foreign, ...], kwargs: dict[str, Foreign]) -> Foreign:
        nonlocal told
        if not torch.is_grad_enabled() or not wanted():
            return own(*args, **kwargs)
        with under_ours(), torch.autocast(device_type, dtype=dtype):
            if told:
                return widened(own(*args, **kwargs), dtype)
            told = True
            with Within(part, device_type) as within:
                result = own(*args, **kwargs)
            found(name_of(within.dtype))
        return widened(result, dtype)

    return around


def widened(result: Foreign, dtype: torch.dtype) -> Foreign:
    """Return a module's output with its tensors of type `dtype` in float32."""

    def widen(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.float() if tensor.dtype is dtype else tensor

    if dataclasses.is_dataclass(result) and not isinstance(result, (dict, type)):
        return _widened_fields(result, widen)
    return pytree.tree_map_only(torch.Tensor, widen, result)


def _widened_fields(result: Foreign, widen: Callable[[torch.Tensor], torch.Tensor]) -> Foreign:
    made = copy.copy(result)
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        object.__setattr__(made, field.name, pytree.tree_map_only(torch.Tensor, widen, value))
    return made


def switch_off() -> None:
    """Make every autocast of the script one that is off."""
    kind: Foreign = torch.autocast
    original: Callable[..., None] = kind.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def build(self: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.arguments["enabled"] = False
        original(*bound.args, **bound.kwargs)

    kind.__init__ = build
