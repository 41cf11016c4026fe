"""`layout.channels_last`: parameters, buffers and gradients of four dimensions, and a module's inputs."""

import torch
from torch import nn
from torch.utils import _pytree as pytree

from perftui.trainer.probe.altering.altered_call import Around, Call
from perftui.trainer.probe.border import Foreign

_IMAGES = 4


def convert(module: nn.Module, memory_format: torch.memory_format) -> int:
    """Lay out a module's tensors of four dimensions anew, in place; return how many parameters these are.

    Parameters stay the objects that they are, so that optimizers and wrappers keep them.
    """
    converted = 0
    with torch.no_grad():
        for parameter in module.parameters():
            if not _of_images(parameter):
                continue
            converted += 1
            parameter.data = parameter.data.contiguous(memory_format=memory_format)
            if parameter.grad is not None:
                parameter.grad.data = parameter.grad.data.contiguous(memory_format=memory_format)
        for buffer in module.buffers():
            if _of_images(buffer):
                buffer.data = buffer.data.contiguous(memory_format=memory_format)
    return converted


def convert_state(optimizer: torch.optim.Optimizer, memory_format: torch.memory_format) -> None:
    """Lay out what an optimizer keeps of such parameters alike, after a resume."""
    for state in optimizer.state.values():
        for name, value in list(state.items()):
            if isinstance(value, torch.Tensor) and _of_images(value):
                state[name] = value.contiguous(memory_format=memory_format)


def _of_images(tensor: torch.Tensor) -> bool:
    return not nn.parameter.is_lazy(tensor) and tensor.dim() == _IMAGES


def inputs_converted(around: Around | None) -> Around:
    """Return what converts a module's inputs of four dimensions, and then does what `around` does."""

    def convert_input(tensor: torch.Tensor) -> torch.Tensor:
        images = tensor.dim() == _IMAGES and tensor.is_floating_point() and tensor.layout is torch.strided
        return tensor.contiguous(memory_format=torch.channels_last) if images else tensor

    def with_inputs(own: Call, args: tuple[Foreign, ...], kwargs: dict[str, Foreign]) -> Foreign:
        args = tuple(pytree.tree_map_only(torch.Tensor, convert_input, each) for each in args)
        kwargs = {
            name: pytree.tree_map_only(torch.Tensor, convert_input, each) for name, each in kwargs.items()
        }
        return own(*args, **kwargs) if around is None else around(own, args, kwargs)

    return with_inputs
