"""Which versions fit together. Pure."""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from perftui.trainer.launch.interpreter import InterpreterCheck

Finding: TypeAlias = tuple[Literal["ok", "warn", "bad"], str, str, str | None]
"""State, name, text, advice."""
_OLDEST_TORCH = (2, 4)
_VISION_OFFSET = 15
"""torch 2.N belongs to torchvision 0.(N + 15): 2.4 to 0.19, 2.14 to 0.29."""


def version_checks(check: InterpreterCheck) -> Iterator[Finding]:
    """Judge torch and torchvision of one interpreter."""
    if check.torch is None:
        advice = f"{check.path} -m pip install torch" if check.path else None
        yield "warn", "torch", "not installed in this Python: only a script that trains needs it", advice
        return
    built_for = f", built for CUDA {check.torch_cuda}" if check.torch_cuda else ", CPU build"
    if _numbers(check.torch)[:2] < _OLDEST_TORCH:
        yield "bad", "torch", f"{check.torch}: older than 2.4", "install torch 2.4 or newer"
    else:
        yield "ok", "torch", check.torch + built_for, None
    if check.torchvision is not None:
        yield _vision(check.torch, check.torchvision, check.torchvision_needs)


def _vision(torch: str, vision: str, needs: str | None) -> Finding:
    """Judge by what torchvision's own metadata asks for, else by the rule of their minor versions."""
    exact = re.search(r"==\s*([\d.]+)", needs or "")
    if exact is not None:
        wanted = exact[1]
        fits = _numbers(torch) == _numbers(wanted)
    else:
        minor = _numbers(torch)[1]
        wanted = f"2.{_numbers(vision)[1] - _VISION_OFFSET}"
        fits = _numbers(vision)[:2] == (0, minor + _VISION_OFFSET)
    if fits:
        return "ok", "torchvision", f"{vision}, fits torch {torch}", None
    text = f"{vision} is built for torch {wanted}, here is {torch}"
    return "bad", "torchvision", text, "install a torchvision and a torch that belong together"


def _numbers(version: str) -> tuple[int, ...]:
    """Return the release numbers, three of them: `2.14.1+cu130` gives (2, 14, 1)."""
    found = [int(part) for part in re.findall(r"\d+", re.split(r"[+a-z]", version)[0])]
    return (*found, 0, 0, 0)[:3]
