"""Knows of the profilers that the training script itself opens, so that neither capture damages the other.

torch allows one capture at a time and says nothing when a second one destroys the first: preparing cancels
the capture that runs, stopping ends whichever runs. So a script's profiler has the right of way.
"""

import importlib
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class ScriptProfilers:
    """Watches `torch.autograd.profiler.profile`, through which every capture passes."""

    def __init__(self, give_way: Callable[[], None]) -> None:
        """`give_way` is called in the script's thread before its profiler prepares a capture."""
        self._give_way = give_way
        self._prepared: weakref.WeakSet[object] = weakref.WeakSet()
        self._ours = False
        self._watching = False

    @property
    def prepared(self) -> bool:
        """Whether the script has a capture prepared or running."""
        return len(self._prepared) > 0

    def watch(self) -> None:
        """Begin to watch, once torch has been imported. Costs nothing until a profiler is used."""
        if self._watching or "torch.autograd.profiler" not in sys.modules:
            return
        self._watching = True
        module = importlib.import_module("torch.autograd.profiler")
        profile = module.profile
        if hasattr(profile, "_prepare_trace"):
            self._wrap(profile, profile._prepare_trace, profile.__exit__)

    @contextmanager
    def ours(self) -> Iterator[None]:
        """Within this context the profiler that prepares is perftui's own."""
        self._ours = True
        try:
            yield
        finally:
            self._ours = False

    def _wrap(self, profile: type[Any], prepare: Callable[..., object], leave: Callable[..., object]) -> None:
        def prepare_trace(capture: object) -> object:
            if not self._ours:
                self._prepared.add(capture)
                self._give_way()
            return prepare(capture)

        def exit_capture(capture: object, *error: object) -> object:
            try:
                return leave(capture, *error)
            finally:
                self._prepared.discard(capture)

        profile._prepare_trace = prepare_trace
        profile.__exit__ = exit_capture
