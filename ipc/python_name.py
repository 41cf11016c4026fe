"""What interpreters of Python are called: `python`, `python3.13t`, `pypy3`."""

import re
from pathlib import PurePath

_PYTHON = re.compile(r"(python|pypy)\d*(\.\d+)?t?")


def is_python(program: str) -> bool:
    """Tell whether a program, by name or path, is an interpreter of Python."""
    return _PYTHON.fullmatch(PurePath(program).name) is not None
