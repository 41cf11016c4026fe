"""Whether the training thread stands in a call that waits for the GPU: what looks like logging may be that.

`print(f"loss {loss.item():.3f}")` is one line. Almost all of its time goes to `.item()`, in which the host
waits for everything it has issued before. From Python 3.11 on the instruction tells which call of a line
runs; before, a line with such a call in it counts as one.
"""

import ast
import functools
import re
import sys
from itertools import islice
from types import CodeType
from typing import Protocol

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.source_lines import lines_of

_READS = frozenset(
    {
        "item",
        "tolist",
        "cpu",
        "numpy",
        "synchronize",
        "nonzero",
        "masked_select",
        "equal",
        "allclose",
        "unique",
    }
)
"""Methods and functions of torch that return only when the device has got so far."""
_NUMBERS = frozenset({"float", "int", "bool"})
"""Of a tensor: the same as `.item()`."""
_READ_IN_TEXT = re.compile(
    r"\.(?:item|tolist|cpu|numpy|synchronize)\(|\b(?:float|int|bool)\([^)\d\"']|\.to\(\s*[\"']cpu"
)
_TORCHS_OWN = (
    ("_tensor_str.py", None),
    ("_tensor.py", frozenset({"__format__", "__repr__", "tolist", "__array__", "__contains__", "__float__"})),
    ("cuda/__init__.py", frozenset({"synchronize"})),
    ("cuda/streams.py", frozenset({"synchronize", "wait"})),
    ("cuda/memory.py", frozenset({"empty_cache"})),
)
"""Files of torch, and the functions in them that wait for the device; None: all."""


class Spot(Protocol):
    """Where a frame is."""

    @property
    def code(self) -> CodeType:
        """What it runs."""
        ...

    @property
    def instruction(self) -> int:
        """Its `f_lasti`."""
        ...

    @property
    def text(self) -> str:
        """The source of its line."""
        ...


class DeviceReads:
    """Tells such calls apart; without CUDA in use there are none."""

    def __init__(self, torch_folder: str) -> None:
        self._own = tuple((torch_folder + file, functions) for file, functions in _TORCHS_OWN)

    def waits(self, innermost: Spot, own: Spot | None) -> bool:
        """Return whether the thread waits for the device.

        Args:
            innermost: the innermost frame.
            own: the script's innermost frame; None without any.
        """
        if own is None or not _cuda_in_use():
            return False
        if innermost.code is not own.code:
            return self._is_torchs(innermost.code)
        call = called_at(own.code, own.instruction)
        return _READ_IN_TEXT.search(own.text) is not None if call is None else call in _READS | _NUMBERS

    def _is_torchs(self, code: CodeType) -> bool:
        return any(
            code.co_filename == file and (functions is None or code.co_name in functions)
            for file, functions in self._own
        )


def _cuda_in_use() -> bool:
    cuda: Foreign = getattr(sys.modules.get("torch"), "cuda", None)
    return bool(getattr(cuda, "is_initialized", bool)())


@functools.lru_cache(maxsize=1024)
def called_at(code: CodeType, instruction: int) -> str | None:
    """Return the name of the function or method that an instruction calls.

    Empty for an instruction that is no call; None where that cannot be told: Python before 3.11, no source.
    """
    text = _text_of(code, instruction)
    if text is None:
        return None
    try:
        found = ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    if not isinstance(found, ast.Call):
        return ""
    function = found.func
    if isinstance(function, ast.Attribute):
        to_host = function.attr == "to" and any(_is_cpu(arg) for arg in found.args)
        return "cpu" if to_host else function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_cpu(argument: ast.expr) -> bool:
    return isinstance(argument, ast.Constant) and argument.value == "cpu"


def _text_of(code: CodeType, instruction: int) -> str | None:
    """Return the source of the expression that an instruction belongs to."""
    if sys.version_info < (3, 11) or instruction < 0:
        return None
    place = next(islice(code.co_positions(), instruction // 2, None), None)
    if place is None or None in place:
        return None
    first, last, begin, end = place
    assert first is not None
    lines = [line.encode() for line in lines_of(code.co_filename)[first - 1 : last]]
    if not lines:
        return None
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][begin:]
    return b"".join(lines).decode(errors="replace")
