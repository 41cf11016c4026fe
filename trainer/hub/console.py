"""The training's output for the screen: tailed from a file, split into lines, made harmless.

Output is data: escape sequences are removed, carriage returns rewrite their line as a terminal would.
"""

import codecs
import os
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path

from perftui.ipc.harmless import STEERING
from perftui.ipc.units import MIB

_LINES_KEPT = 1000
_LINE_MAX = 2000
_READ_MAX = MIB
_FIRST_READ = 64 * 1024
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile(f"[{STEERING}]")


def plain(text: str) -> str:
    """Return one line of output as a terminal would leave it, without anything that could draw."""
    text = _ESCAPES.sub("", text)
    kept = [part for part in text.split("\r") if part]
    text = kept[-1] if kept else ""
    return _CONTROLS.sub("", text.replace("\t", "    "))[:_LINE_MAX]


def _decoder() -> Callable[[bytes], str]:
    """Return a decoder that waits for the rest of a character which has been written in part."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode


class OutputTail:
    """Follows `console.log`; numbers its finished lines from 1 upwards."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset: int | None = None
        self._inode = -1
        self._rest = ""
        self._decode = _decoder()
        self._lines: deque[tuple[int, str]] = deque(maxlen=_LINES_KEPT)
        self._number = 0

    def read(self) -> bool:
        """Take in what was written since the last call; True when there was something."""
        try:
            with self._path.open("rb") as stream:
                found = os.fstat(stream.fileno())
                if found.st_ino != self._inode or self._offset is None or found.st_size < self._offset:
                    self._offset = 0 if self._inode >= 0 else max(0, found.st_size - _FIRST_READ)
                    self._inode = found.st_ino
                    self._decode = _decoder()
                stream.seek(self._offset)
                data = stream.read(_READ_MAX)
        except OSError:
            return False
        if not data:
            return False
        self._offset += len(data)
        self._take(self._decode(data))
        return True

    def _take(self, text: str) -> None:
        *whole, rest = (self._rest + text).replace("\r\n", "\n").split("\n")
        for line in whole:
            self._number += 1
            self._lines.append((self._number, plain(line)))
        self._rest = rest[-4 * _LINE_MAX :]

    @property
    def partial(self) -> str:
        """The line that is not finished yet: a progress bar, a prompt."""
        return plain(self._rest)

    def since(self, number: int) -> tuple[list[str], int]:
        """Return the lines after `number`, and the number of the last."""
        return [line for at, line in self._lines if at > number], self._number

    def last(self, count: int) -> list[str]:
        """Return the last lines, an unfinished one included."""
        lines = [line for _, line in self._lines]
        return [*lines, self.partial][-count:] if self.partial else lines[-count:]
