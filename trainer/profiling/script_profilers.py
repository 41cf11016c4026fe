"""Knows of the profilers that the training script itself opens, so that neither capture damages the other.

torch allows one capture at a time. It says nothing when a second one destroys the first (preparing cancels
the capture that runs, stopping ends whichever runs), and raises where the second is one of the older kinds.
So a script's profiler has the right of way. It is watched from torch's import on: a capture that is only
prepared leaves no trace by which it could be found later.
"""

import importlib
import os
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_OLDER = (
    ("torch.autograd.profiler", "emit_nvtx"),
    ("torch.autograd.profiler", "emit_itt"),
    ("torch.autograd.profiler_legacy", "profile"),
)
"""Contexts that open a capture by themselves; names that this torch lacks are passed over."""


class ScriptProfilers:
    """Watches `torch.autograd.profiler.profile`, through which every newer capture passes, and the older."""

    def __init__(self) -> None:
        self._open: weakref.WeakSet[object] = weakref.WeakSet()
        self._pid = os.getpid()
        self._ours = False
        self._watched: set[tuple[str, str]] = set()
        self._give_way: Callable[[], None] | None = None

    @property
    def prepared(self) -> bool:
        """Whether the script has a capture prepared or running."""
        if os.getpid() != self._pid:  # a forked child: its parent's captures are not its own
            self._pid = os.getpid()
            self._open.clear()
        return len(self._open) > 0

    def yield_by(self, give_way: Callable[[], None]) -> None:
        """Have this called in the script's thread before its profiler prepares a capture."""
        self._give_way = give_way
        self.watch()

    def watch(self) -> None:
        """Begin to watch what has been imported so far. Costs nothing until a profiler is used."""
        self._watch_newer()
        for module_name, name in _OLDER:
            kind = getattr(sys.modules.get(module_name), name, None)
            if isinstance(kind, type) and self._is_new(module_name, name):
                self._wrap(kind, "__enter__")

    def _watch_newer(self) -> None:
        if "torch.autograd.profiler" not in sys.modules:
            return
        profile = importlib.import_module("torch.autograd.profiler").profile
        if hasattr(profile, "_prepare_trace") and self._is_new("torch.autograd.profiler", "profile"):
            self._wrap(profile, "_prepare_trace")

    def _is_new(self, module_name: str, name: str) -> bool:
        known = (module_name, name) in self._watched
        self._watched.add((module_name, name))
        return not known

    @contextmanager
    def ours(self) -> Iterator[None]:
        """Within this context the profiler that prepares is perftui's own."""
        self._ours = True
        try:
            yield
        finally:
            self._ours = False

    def _begins(self, capture: object) -> None:
        if self._ours:
            return
        if getattr(capture, "enabled", True):
            self._open.add(capture)
            if self._give_way is not None:
                self._give_way()

    def _wrap(self, kind: type[Any], begin_name: str) -> None:
        begin: Callable[..., object] = getattr(kind, begin_name)
        leave: Callable[..., object] = kind.__exit__

        def begin_capture(capture: object) -> object:
            self._begins(capture)
            return begin(capture)

        def exit_capture(capture: object, *error: object) -> object:
            try:
                return leave(capture, *error)
            finally:
                self._open.discard(capture)

        setattr(kind, begin_name, begin_capture)
        kind.__exit__ = exit_capture


SCRIPT_PROFILERS = ScriptProfilers()
"""Of this process."""
