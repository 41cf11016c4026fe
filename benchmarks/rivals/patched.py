"""Which of torch's functions are somebody else's at this moment: the proof that a tool is at work."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch.optim import SGD, AdamW
from torch.utils.data import DataLoader
from torch.utils.data import dataloader as loader_module


def patched_functions() -> dict[str, str]:
    """Return what is patched, each with the file that the code now comes from, and counts of global hooks.

    Empty in an untouched process.
    """
    of_loader: Any = loader_module
    places: dict[str, object] = {
        "Module.__call__": torch.nn.Module.__call__,
        "Tensor.backward": torch.Tensor.backward,
        "autograd.backward": torch.autograd.backward,
        "Tensor.to": torch.Tensor.to,
        "Tensor.item": torch.Tensor.item,
        "DataLoader.__iter__": DataLoader.__iter__,
        "_BaseDataLoaderIter.__next__": of_loader._BaseDataLoaderIter.__next__,
        "SGD.step": SGD.step,
        "AdamW.step": AdamW.step,
    }
    found = {name: origin for name, place in places.items() if (origin := _foreign_origin(place)) is not None}
    of_optimizer = import_module("torch.optim.optimizer")
    for name in ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks"):
        if count := len(getattr(of_optimizer, name)):
            found[name] = str(count)
    return found


def _foreign_origin(function: object) -> str | None:
    code = getattr(function, "__code__", None)
    if code is None:  # torch's own C functions have none; what took their place has a module
        module = getattr(function, "__module__", None) or "torch"
        return None if module.split(".")[0] in ("torch", "builtins") else module
    path = Path(code.co_filename)
    home = Path(torch.__file__).parent
    if home in path.parents:
        return None
    for root in map(Path, sys.path):
        if root.is_absolute() and root in path.parents:
            return str(path.relative_to(root))
    return path.name
