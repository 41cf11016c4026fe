"""The worker thread that writes what a window recorded, and compresses it without the GIL.

torch holds the GIL while it writes, up to 2.14 at least (pytorch/pytorch#191699 would release it), and while
it drops the results, about a microsecond an event: a training thread that needs it stands still for so long.
How long both took is told apart.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from perftui.trainer.profiling.memory_history import MemoryHistory
from perftui.trainer.profiling.torch_session import PROFILER_ERRORS, TraceResults
from perftui.trainer.profiling.trace_save import save_trace

_PATIENCE_S = 30.0
_TRACE = ".pt.trace.json.gz"
_SNAPSHOT = ".memory.pickle"


class Saved(NamedTuple):
    """What became of a recording."""

    trace: Path | None
    snapshot: Path | None
    events: int
    failure: str | None
    cost_ms: dict[str, float]
    """write, drop: torch's own work on the trace."""


class TraceSaver:
    """Saves one recording at a time."""

    def __init__(self) -> None:
        self.busy = False
        self._thread: threading.Thread | None = None

    def start(
        self,
        results: list[TraceResults],
        memory: MemoryHistory | None,
        stem: Path | None,
        done: Callable[[Saved], None],
    ) -> None:
        """Begin to save.

        Args:
            results: the raw results, as the only item; the list is emptied when they have been dropped.
            memory: the allocator's history, which is ended as well.
            stem: the files' path without its end; None: nothing is kept.
            done: called in the worker thread.

        Raises:
            RuntimeError: no thread can be started.
        """

        def save() -> None:
            saved = _save(results, memory, stem)
            self.busy = False
            done(saved)

        thread = threading.Thread(target=save, name="perftui-trace", daemon=True)
        self.busy = True
        try:
            thread.start()
        except RuntimeError:
            self.busy = False
            if memory is not None:
                memory.end()
            raise
        self._thread = thread

    def wait(self) -> None:
        """Wait for what is being written, for so long that a slow disk does not hold up the end for ever."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE_S)


def _save(results: list[TraceResults], memory: MemoryHistory | None, stem: Path | None) -> Saved:
    trace = snapshot = failure = None
    events = 0
    cost_ms: dict[str, float] = {}
    try:
        if stem is not None:
            if memory is not None and memory.recording:
                snapshot = stem.with_name(stem.name + _SNAPSHOT)
                memory.save(snapshot)
            trace = stem.with_name(stem.name + _TRACE)
            events, cost_ms["write"] = save_trace(results[0], trace)
    except PROFILER_ERRORS as error:
        failure = f"the trace could not be saved: {error}"
    began = time.perf_counter()
    results.clear()
    cost_ms["drop"] = (time.perf_counter() - began) * 1000.0
    if memory is not None:
        try:
            memory.end()
        except PROFILER_ERRORS as error:
            failure = f"{failure or 'the trace was saved'}; ending the allocator's history: {error}"
    return Saved(trace, snapshot, events, failure, cost_ms)
