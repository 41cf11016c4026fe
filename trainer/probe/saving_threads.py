"""Which threads write a checkpoint at the moment, the training thread left out: noted as they begin and end.

A thread that saves does more than to call torch.save: it flushes, syncs, renames and removes. So the script's
function from which it saved is remembered, and a thread that is found in it counts as saving, unless it waits
there for something to save.
"""

import re
import sysconfig
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import Final

from perftui.trainer.probe.source_lines import is_installed, text_at

_DEPTH: Final = 60
_CALLERS_KEPT: Final = 16
_STDLIB: Final = sysconfig.get_paths()["stdlib"]
_WAITING: Final = tuple(
    f"{_STDLIB}/{name}.py" for name in ("threading", "queue", "concurrent/futures/_base", "selectors")
)
"""Files of Python in which a thread waits for another."""
_WAITS: Final = re.compile(r"\.(?:result|join|acquire|wait)\(")
_WAITS_FOR_WORK: Final = re.compile(r"\.(?:get|acquire|wait|recv)\(")


def waits(file: str, line: int) -> bool:
    """Tell whether a thread whose innermost frame is there waits for another thread."""
    return file in _WAITING or _WAITS.search(text_at(file, line)) is not None


class SavingThreads:
    """Filled by the threads that save, read by the agent's."""

    def __init__(self) -> None:
        self._inside: dict[int, int] = {}
        """By thread: how many writers it is in; each thread writes its own."""
        self._callers: list[CodeType] = []
        self.any = False
        """A thread beside the training thread has saved before."""

    def begins(self, thread: int, caller: CodeType) -> None:
        """A thread begins to write."""
        self.any = True
        self._inside[thread] = self._inside.get(thread, 0) + 1
        if is_installed(caller.co_filename):
            return  # what runs a pool's threads runs everything else that they do
        if caller not in self._callers and len(self._callers) < _CALLERS_KEPT:
            self._callers.append(caller)

    def ends(self, thread: int) -> None:
        """It has written, or failed to."""
        left = self._inside.get(thread, 1) - 1
        if left > 0:
            self._inside[thread] = left
        else:
            self._inside.pop(thread, None)

    def found(self, frames: Mapping[int, FrameType], but: int) -> bool:
        """Tell whether any thread saves.

        Args:
            frames: the innermost frame of every thread.
            but: a thread that is left out.
        """
        return any(
            thread in self._inside or self._is_about_it(frame)
            for thread, frame in frames.items()
            if thread != but
        )

    def _is_about_it(self, innermost: FrameType) -> bool:
        code = innermost.f_code
        if code.co_filename in _WAITING:
            return False
        if code in self._callers and _WAITS_FOR_WORK.search(
            text_at(code.co_filename, innermost.f_lineno or code.co_firstlineno)
        ):
            return False
        frame: FrameType | None = innermost
        for _ in range(_DEPTH):
            if frame is None:
                return False
            if frame.f_code in self._callers:
                return True
            frame = frame.f_back
        return False
