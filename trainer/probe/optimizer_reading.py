"""The living optimizers: kind, flags, learning rate. Nothing here waits for a GPU."""

import torch

from perftui.ipc.facts import OptimizerFacts
from perftui.trainer.probe.border import Foreign

_FLAGS = (
    "foreach",
    "fused",
    "capturable",
    "differentiable",
    "amsgrad",
    "maximize",
    "nesterov",
    "decoupled_weight_decay",
)
_SHOWN = 8


class OptimizerReader:
    """Reads the optimizers; counts the parameters of each again only when it has other tensors."""

    def __init__(self) -> None:
        self._counted: dict[tuple[int, int], int] = {}

    def read(self, optimizers: list[Foreign]) -> list[OptimizerFacts]:
        """Return the newest optimizers, at most 8, in the order of their construction."""
        shown = [self._read(optimizer) for optimizer in optimizers[-_SHOWN:]]
        if len(self._counted) > 4 * _SHOWN:
            self._counted.clear()
        return shown

    def _read(self, optimizer: Foreign) -> OptimizerFacts:
        groups: list[dict[str, Foreign]] = list(optimizer.param_groups)
        tensors = sum(len(group["params"]) for group in groups)
        key = id(optimizer), tensors
        if key not in self._counted:
            self._counted[key] = sum(count(tensor) for group in groups for tensor in list(group["params"]))
        first = groups[0] if groups else {}
        return OptimizerFacts(
            kind=type(optimizer).__name__,
            groups=len(groups),
            tensors=tensors,
            parameters=self._counted[key],
            lr=_number(first.get("lr")),
            flags={name: _flag(first[name]) for name in _FLAGS if name in first},
        )


def count(tensor: Foreign) -> int:
    """Return the numbers in a parameter; 0 while its shape is not known (lazy modules)."""
    return 0 if torch.nn.parameter.is_lazy(tensor) else int(tensor.numel())


def _number(value: Foreign) -> float | None:
    if isinstance(value, torch.Tensor):
        return float(value) if value.device.type == "cpu" else None  # a copy from the GPU would wait for it
    return float(value) if isinstance(value, (int, float)) else None


def _flag(value: Foreign) -> bool | None:
    return None if value is None else bool(value)
