"""The worker thread that writes what a window recorded: off the training thread, and mostly off the GIL.

It also drops the results, which takes about a microsecond an event.
"""

import threading
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
    try:
        if stem is not None:
            if memory is not None and memory.recording:
                snapshot = stem.with_name(stem.name + _SNAPSHOT)
                memory.save(snapshot)
            trace = stem.with_name(stem.name + _TRACE)
            events = save_trace(results[0], trace)
    except PROFILER_ERRORS as error:
        failure = f"the trace could not be saved: {error}"
    results.clear()
    if memory is not None:
        try:
            memory.end()
        except PROFILER_ERRORS as error:
            failure = f"{failure or 'the trace was saved'}; ending the allocator's history: {error}"
    return Saved(trace, snapshot, events, failure)
