"""Places of the user's own code, as they are shown: `train.py:34 main`.

A user edits files of their own: frames of perftui, of torch, of Python and of installed packages never count.
"""

import functools
import os
import sys
from pathlib import Path
from types import CodeType, FrameType

import torch

from perftui.ipc.own_files import is_ours
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.source_lines import is_installed

_NO_FRAMEWORKS = sys.stdlib_module_names | {"torch", "torchdata", "safetensors"}
"""What is called by the user's code itself, as far as it is concerned."""
_TORCH = f"{Path(torch.__file__).parent}{os.sep}"
_WRAPPED = 4
"""Decorators around one function, at most."""


@functools.lru_cache(maxsize=1024)
def is_own(file: str) -> bool:
    """Return whether a file is the user's own, and one that can be edited."""
    return not (file.startswith(("<", _TORCH)) or is_ours(file) or is_installed(file))


def _place_of_frame(frame: FrameType) -> str:
    """Return where a frame is: file, line and function."""
    return f"{shown(frame.f_code.co_filename)}:{frame.f_lineno or 0} {name_of(frame.f_code)}"


def unwrapped(function: Foreign) -> Foreign:
    """Return the function within its decorators, as far as they tell of it."""
    for _ in range(_WRAPPED):
        attributes: Foreign = getattr(function, "__dict__", {})
        function = attributes.get("__wrapped__", function)
    return function


def place_of_call(frame: FrameType | None) -> str | None:
    """Return the user's innermost line that leads to a frame, and the framework between the two, if one is.

    Args:
        frame: anywhere within what torch or we do.
    """
    makers: list[str] = []
    while frame is not None and not is_own(frame.f_code.co_filename):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in _NO_FRAMEWORKS and is_installed(frame.f_code.co_filename):
            makers.append(package)
        frame = frame.f_back
    if frame is None:
        return None
    return _place_of_frame(frame) + (f" (by {makers[0]})" if makers else "")


def name_of(code: CodeType) -> str:
    """Return the name of a function with its class, where Python tells that (3.11 and later)."""
    return code.co_qualname if sys.version_info >= (3, 11) else code.co_name


def shown(file: str) -> str:
    """Return a path below the working folder as a relative one, others as they are."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file
