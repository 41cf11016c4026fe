"""Reads the training's output on when its keeper was killed: without a reader it would end at its next line.

The hub inherits the reading ends from the keeper and leaves them alone for as long as that lives. What is
read goes to `console.log` only: whoever started the run has had its answer by then.
"""

import contextlib
import os

from perftui.ipc.places import RunPlaces
from perftui.trainer.launch.console import ConsoleLog, Drain
from perftui.trainer.launch.hub_process import OUTPUT_VARIABLE


class OutputHeir:
    """The reading ends of one run's output.

    Args:
        places: of the run.
    """

    def __init__(self, places: RunPlaces) -> None:
        self._places = places
        self._ends = [int(word) for word in os.environ.pop(OUTPUT_VARIABLE, "").split(",") if word]
        self._drains: list[Drain] = []
        for end in self._ends:
            os.set_inheritable(end, False)

    def take_over(self) -> None:
        """Begin to read, once; until every writer has closed."""
        if not self._ends:
            return
        log: ConsoleLog | None = None
        with contextlib.suppress(OSError):  # read on all the same
            log = ConsoleLog(self._places.console)
        self._drains = [Drain(end, log, None) for end in self._ends]
        for drain in self._drains:
            drain.start()
        self._ends = []

    @property
    def reads(self) -> bool:
        """Whether somebody may still write; the command itself may have ended."""
        return any(drain.is_alive() for drain in self._drains)
