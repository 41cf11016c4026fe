"""What a frame of a stack tells, by the file its code is from."""

import os
import sys
from pathlib import Path
from types import CodeType

from perftui.ipc.own_files import is_ours
from perftui.trainer.probe.source_lines import is_installed

_TORCH = (
    ("compile", ("_dynamo/convert_frame.py",)),
    ("collate", ("utils/data/_utils/collate.py",)),
    ("dataset", ("utils/data/_utils/fetch.py",)),
    ("loader", ("utils/data/dataloader.py",)),
    ("backward", ("autograd/__init__.py", "autograd/graph.py", "_tensor.py")),
    ("checkpoint", ("serialization.py",)),
    ("communication", ("distributed/",)),
    ("model", ("nn/modules/module.py", "nn/functional.py", "nn/parallel/")),
    ("optimizer", ("optim/", "amp/grad_scaler.py", "nn/utils/clip_grad.py")),
)
"""By area, most telling first: files of torch, of which one in a stack says what the thread is doing."""
_OTHERS = (
    ("checkpoint", ("/safetensors/",)),
    ("logging", ("/logging/__init__.py", "/loggers/", "/loguru/", "/tqdm/", "/rich/", "/tensorboard")),
    ("logging", ("/wandb/", "/mlflow/", "/comet_ml/", "/neptune/", "/clearml/", "/aim/", "/swanlab/")),
)
AREAS = (
    "compile", "collate", "dataset", "loader", "backward", "checkpoint", "logging", "communication", "model",
    "optimizer",
)  # fmt: skip
"""The most telling first; beside them script for anything else, and device for a wait for the GPU."""
_BACKWARD = frozenset({"backward", "_engine_run_backward", "grad"})
_FILES_KEPT = 4096


class StackAreas:
    """Knows the areas of files that it was asked for; torch must have been imported."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self.torch = str(Path(sys.modules["torch"].__file__ or "").parent) + os.sep
        """Folder of torch, with a separator at its end."""

    def of(self, code: CodeType) -> str:
        """Return what a frame's code tells; script: it is the user's own; empty: nothing."""
        name = code.co_filename
        area = self._known.get(name)
        if area is None:
            if len(self._known) >= _FILES_KEPT:  # code that is made has ever new names
                self._known.clear()
            area = self._known[name] = self._of_file(name)
        return "" if area == "backward" and code.co_name not in _BACKWARD else area

    def _of_file(self, name: str) -> str:
        if name.startswith(self.torch):
            inner = name[len(self.torch) :]
            return next((area for area, files in _TORCH if inner.startswith(files)), "")
        if is_installed(name):  # a folder of the script's may be called like one of these
            return next((area for area, parts in _OTHERS if any(part in name for part in parts)), "")
        return "" if "torchinductor" in name or name.startswith("<") or is_ours(name) else "script"
