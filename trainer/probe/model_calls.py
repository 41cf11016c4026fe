"""What a look at a called model tells of gradients: it learns, it leaves none, or it is being evaluated.

Gradients are on or off for each thread by itself, and no other thread can ask. So it is told by the called
modules (what of them is trained, and in which mode they are) and by the source: a line within
`with torch.no_grad()`, a function under `@torch.inference_mode()`. A model that acts to gather what it learns
from does what an evaluation does; there only the names of the calling functions tell the two apart.
"""

import functools
import re
import weakref
from collections.abc import Iterable, Sequence
from types import CodeType, FrameType
from typing import Final, Literal, NamedTuple, TypeAlias

import torch

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.source_lines import begin_of_statement, lines_of, statement_at

Told: TypeAlias = Literal["learns", "no gradient", "evaluated"]

_OFF: Final = re.compile(r"\b(?:no_grad|inference_mode)\b(?!\(\s*False)|\bset_grad_enabled\(\s*False")
_EVALUATES: Final = re.compile(r"eval|valid|test|metric|accura|score|bench|infer|predict", re.IGNORECASE)
_ACTS: Final = re.compile(
    r"rollout|collect|explor|pseudo|self_?play|simulat|episode|trajector|experience"
    r"|(?:^|_)act(?:$|_)|(?:select|choose|sample|get)_actions?$",
    re.IGNORECASE,
)
_TRAINS: Final = re.compile(r"train", re.IGNORECASE)
_CALLERS: Final = 6
"""Functions, from the innermost on, whose names are heard."""
_CALLS: Final = 4
"""Called modules, from the outermost on, that are looked into: each look makes a dictionary of variables."""
_WALK_AGAIN: Final = 32
"""Looks after which a module is asked again whether anything of it is trained."""
_LINES_ABOVE: Final = 200
_DECORATORS: Final = 12


def acts(names: Iterable[str]) -> bool:
    """Tell by the calling functions whether a model acts to gather data rather than is evaluated."""
    heard = [*names][:_CALLERS]
    return any(map(_ACTS.search, heard)) and not _evaluates(heard)


def is_trainable(module: torch.nn.Module) -> bool:
    """Tell whether any parameter of a module is to be trained."""
    try:
        return any(weight.requires_grad for weight in module.parameters())
    except RuntimeError:  # it is being changed in another thread
        return True


class Called(NamedTuple):
    """A model that is being called, without the model: that would keep it alive."""

    untrained: bool
    """It has parameters, and none of them is trained; or so has a part of it that is at work."""
    training: bool
    """It is in training mode."""
    changed: bool
    """It is not, and was found in it before."""
    inner: int = 0
    """The script's frames within it."""


def told_of(called: Called, script: Sequence[tuple[CodeType, int]]) -> Told:
    """Return what a call tells; source files are read for it.

    Args:
        called: the model.
        script: the script's frames as code and line, innermost first.
    """
    if called.untrained:
        return "no gradient"
    off = any(gradients_off(code, line) for code, line in script)
    names = [code.co_name for code, _ in script[called.inner :]][:_CALLERS]
    evaluates = called.changed or (off and (not called.training or _evaluates(names)))
    if evaluates and not acts(names):
        return "evaluated"
    return "no gradient" if off else "learns"


class ModelCalls:
    """Remembers of modules what takes a walk over their parameters to know."""

    def __init__(self) -> None:
        self._untrained: weakref.WeakKeyDictionary[torch.nn.Module, list[int]] = weakref.WeakKeyDictionary()
        """Whether nothing of it is trained, and the looks until it is asked again."""
        self._learnt: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()
        """Outermost modules that were seen in training mode."""

    def called(self, calls: Sequence[FrameType], inner: int) -> Called | None:
        """Return what is known of the modules that are being called; None where that cannot be told.

        Args:
            calls: their frames, innermost first.
            inner: how many of the script's frames are within the outermost of them.
        """
        modules = [frame.f_locals.get("self") for frame in calls[-_CALLS:]]
        outer: Foreign = modules[-1] if modules else None
        if not isinstance(outer, torch.nn.Module):
            return None
        try:
            untrained = any(
                isinstance(each, torch.nn.Module) and self._is_untrained(each) for each in modules
            )
            if outer.training:
                self._learnt.add(outer)
            changed = not outer.training and outer in self._learnt
        except (RuntimeError, TypeError):  # it is being changed in its thread, or cannot be a key
            return None
        return Called(untrained, outer.training, changed, inner)

    def _is_untrained(self, module: torch.nn.Module) -> bool:
        """Tell whether a module has parameters, and none of them is trained."""
        known = self._untrained.get(module)
        if known is not None and known[1] > 0:
            known[1] -= 1
            return bool(known[0])
        weights = [weight.requires_grad for weight in module.parameters()]
        untrained = bool(weights) and not any(weights)
        self._untrained[module] = [untrained, _WALK_AGAIN]
        return untrained


def gradients_off(code: CodeType, line: int) -> bool:
    """Tell by the source whether a line runs without gradients, as far as its own function says."""
    return _is_decorated(code.co_filename, code.co_firstlineno) or _is_within(
        code.co_filename, code.co_firstlineno, line
    )


@functools.lru_cache(maxsize=1024)
def _is_decorated(file: str, first_line: int) -> bool:
    """The first line of a function's code is that of its first decorator."""
    for text in lines_of(file)[first_line - 1 : first_line - 1 + _DECORATORS]:
        stripped = text.lstrip()
        if not stripped.startswith("@"):
            return False
        if _OFF.search(stripped):
            return True
    return False


@functools.lru_cache(maxsize=1024)
def _is_within(file: str, first_line: int, line: int) -> bool:
    """Look for a `with` above that the line is indented in; by the indents alone, as no file is parsed."""
    lines = lines_of(file)
    at = begin_of_statement(file, line)
    if not 1 <= at <= len(lines):
        return False
    if _is_with(lines[at - 1]) and _OFF.search(statement_at(file, line)):
        return True  # `with torch.no_grad(): output = model(batch)` in one line
    indent = _indent(lines[at - 1])
    for number in range(at - 1, max(first_line, at - _LINES_ABOVE) - 1, -1):
        text = lines[number - 1]
        if not text.strip() or text.lstrip().startswith("#") or _indent(text) >= indent:
            continue
        begin = begin_of_statement(file, number)
        indent = min(indent, _indent(lines[begin - 1]))
        if _is_with(lines[begin - 1]) and any(map(_OFF.search, lines[begin - 1 : number])):
            return True
    return False


def _is_with(text: str) -> bool:
    return text.lstrip().startswith(("with ", "async with "))


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _evaluates(names: Iterable[str]) -> bool:
    return any(_EVALUATES.search(name) and not _TRAINS.search(name) for name in names)
