"""Opens one profiling window at a time in a live rank: armed, warmed, recorded, saved, reported.

The probe's background thread arms; the training thread profiles at its own step boundaries, because torch's
profiler is bound to the thread; a worker thread writes the file. A profiler that fails ends its window and
nothing else.
"""

import atexit
import multiprocessing
import multiprocessing.util
import os
import threading
import time
from collections.abc import Callable
from typing import TypeAlias

from perftui.ipc.messages import ArmWindow, WindowState
from perftui.trainer.profiling.open_window import OpenWindow
from perftui.trainer.profiling.script_profilers import ScriptProfilers
from perftui.trainer.profiling.torch_session import (
    PROFILER_ERRORS,
    ProfilerSession,
    TraceResults,
    profiler_enabled,
)
from perftui.trainer.profiling.trace_save import save_trace

Report: TypeAlias = Callable[[str, WindowState, str | None, int, int, str | None, dict[str, float]], None]
"""window_id, state, reason, start_step, steps, absolute path of the trace, cost_ms; from any thread."""

RECORDING_LIMIT_S = 60.0
"""A recording ends at the first step boundary after this."""
_SAVE_PATIENCE_S = 30.0
_FINALIZER_PRIORITY = 1000
"""Above that of whoever reports: the last report must still leave."""
_SCRIPT_PROFILER = "the script's own torch.profiler is active"


class WindowRunner:
    """The profiling windows of one rank."""

    def __init__(self, report: Report) -> None:
        self.active = False
        """Whether `at_boundary` must be called: the only thing the training thread reads outside windows."""
        self.recording = False
        """Whether the profiler is on (warm steps included), so that steps are not like others."""
        self._report = report
        self._lock = threading.RLock()
        self._window: OpenWindow | None = None
        self._saver: threading.Thread | None = None
        self._saving = False
        self._pid = os.getpid()
        self._script_profilers = ScriptProfilers(self._give_way)
        self._script_profilers.watch()
        _call_at_exit(self._at_exit)

    @property
    def begins_at(self) -> int:
        """The step before which a window does something next; -1 for as soon as possible, or none."""
        window = self._window
        return window.prepare_from if window is not None and window.placed else -1

    def arm(self, order: ArmWindow, current_step: int) -> None:
        """Take a window on; any thread. Reports armed, late, busy or unsupported.

        Args:
            order: the window.
            current_step: index of the step that runs now.
        """
        with self._lock:
            self._script_profilers.watch()
            window = OpenWindow(order)
            if self._window is not None or self._saving:
                self._tell(window, "busy", "another window is open in this rank")
            elif self._script_profilers.prepared:
                self._tell(window, "busy", _SCRIPT_PROFILER)
            elif order.steps < 1 or order.warm_steps < 0:
                self._tell(window, "unsupported", f"{order.steps} steps after {order.warm_steps}")
            elif window.placed and current_step >= window.prepare_until:
                self._tell(window, "late", f"step {current_step} already runs")
            else:
                self._window = window
                self._tell(window, "armed")
                self.active = True

    def cancel(self, window_id: str) -> None:
        """Drop a window that does not record yet; any thread. Later it is left to end by itself."""
        with self._lock:
            window = self._window
            if window is None or window.command.window_id != window_id:
                return
            if window.phase != "recording":
                self._abort_where_it_runs(window, "cancelled")

    def at_boundary(self, step: int) -> None:
        """Go on with the window; in the training thread, before the step `step` begins.

        More calls with the same step are harmless, and hold the time limit during long steps.
        """
        with self._lock:
            window = self._window
            if window is None:
                return
            try:
                self._advance(window, step)
            except PROFILER_ERRORS as error:
                self._fail(window, error)

    def shutdown(self, reason: str) -> None:
        """End what is open, as aborted, and wait for a trace being written. Harmless when repeated.

        From another thread a window with the profiler on ends at the next boundary, or with the process.
        """
        with self._lock:
            if self._window is not None:
                self._abort_where_it_runs(self._window, reason)
        self._await_saver()

    def _at_exit(self) -> None:
        """In the main thread, after the script: even a capture of another thread must be ended now."""
        if os.getpid() != self._pid:
            return  # a forked child: the capture belongs to its parent
        with self._lock:
            window = self._window
            if window is not None:
                self._abort(window, window.end_because or "the process ended inside the window")
        self._await_saver()

    def _await_saver(self) -> None:
        saver = self._saver
        if saver is not None and saver is not threading.current_thread():
            saver.join(_SAVE_PATIENCE_S)

    def _advance(self, window: OpenWindow, step: int) -> None:
        if not window.placed:
            window.place(step)
        if window.end_because is not None:
            self._abort(window, window.end_because)
        elif window.phase == "recording":
            self._record_on(window, step)
        elif window.phase == "warming":
            if step >= window.command.start_step:
                self._start(window, step)
        elif step > window.prepare_until:
            self._end(window, "late", f"step {step} had begun before the profiler could be warmed")
        elif step >= window.prepare_from:
            self._prepare(window, step)

    def _prepare(self, window: OpenWindow, step: int) -> None:
        if self._script_profilers.prepared or profiler_enabled():
            self._end(window, "busy", _SCRIPT_PROFILER)
            return
        began = time.perf_counter()
        self.recording = True
        window.thread = threading.get_ident()
        window.session = ProfilerSession(window.command.preset)
        with self._script_profilers.ours():
            window.session.prepare()
        window.phase = "warming"
        window.add_cost("prepare", began)
        self._tell(window, "warming")
        if step >= window.command.start_step:
            self._start(window, step)

    def _start(self, window: OpenWindow, step: int) -> None:
        session = window.session
        if session is None or profiler_enabled():
            window.session = None
            self._end(window, "busy", _SCRIPT_PROFILER)
            return
        began = time.perf_counter()
        session.start()
        window.begin(step)
        window.add_cost("start", began)
        self._tell(window, "recording")

    def _record_on(self, window: OpenWindow, step: int) -> None:
        overdue = time.monotonic() - window.started_s > RECORDING_LIMIT_S
        if step <= window.marked_step:
            if overdue:
                self._abort(window, f"one step took longer than the limit of {RECORDING_LIMIT_S:.0f} s")
            return
        if overdue or step - window.first_step >= window.command.steps:
            self._stop(window, step - window.first_step)
            return
        window.close_mark()
        window.open_mark(step)

    def _stop(self, window: OpenWindow, steps: int) -> None:
        """End the recording and hand the results to the worker, which also drops them: that takes time."""
        session = window.session
        if session is None:
            return
        began = time.perf_counter()
        window.close_mark()
        results = [session.stop()]
        window.session = None
        window.add_cost("stop", began)
        saver = threading.Thread(
            target=self._save, args=(window, results, steps), name="perftui-trace", daemon=True
        )
        self._saving = True
        try:
            saver.start()
        except RuntimeError:
            self._saving = False
            raise
        self._saver = saver
        self._close(window)

    def _save(self, window: OpenWindow, results: list[TraceResults], steps: int) -> None:
        self._tell(window, "saving", steps=steps)
        path = window.trace_path(steps) if window.command.keep else None
        failure: str | None = None
        began = time.perf_counter()
        try:
            if path is not None:
                save_trace(results[0], path)
            results.clear()
        except PROFILER_ERRORS as error:
            failure = f"the trace could not be saved: {error}"
        window.add_cost("save", began, stalls=False)
        self._saving = False
        if failure is not None:
            self._tell(window, "failed", failure, steps=steps)
            return
        asked = window.command.steps
        short = f"ended by the limit of {RECORDING_LIMIT_S:.0f} s with {steps} of {asked} steps"
        reason = short if steps < asked else None
        self._tell(window, "done", reason, steps=steps, path=None if path is None else str(path))

    def _give_way(self) -> None:
        """The script opens a profiler of its own: end ours first, while it can still be ended cleanly."""
        with self._lock:
            window = self._window
            if window is not None and window.phase != "armed":
                self._abort(window, "the script opened its own torch.profiler")

    def _fail(self, window: OpenWindow, error: Exception) -> None:
        self._abort(window, f"the profiler failed: {error}", state="failed")

    def _abort(self, window: OpenWindow, reason: str, state: WindowState = "aborted") -> None:
        """End a window whatever its phase; a profiler that cannot even be ended is added to the reason."""
        session, window.session = window.session, None
        if session is not None:
            try:
                window.close_mark()
                session.abandon()
            except PROFILER_ERRORS as error:
                reason = f"{reason}; ending the profiler: {error}"
        self._end(window, state, reason)

    def _abort_where_it_runs(self, window: OpenWindow, reason: str) -> None:
        if window.belongs_elsewhere:
            window.end_because = reason
        else:
            self._abort(window, reason)

    def _end(self, window: OpenWindow, state: WindowState, reason: str) -> None:
        self._close(window)
        self._tell(window, state, reason)

    def _close(self, window: OpenWindow) -> None:
        if self._window is window:
            self._window = None
            self.active = False
            self.recording = False

    def _tell(
        self,
        window: OpenWindow,
        state: WindowState,
        reason: str | None = None,
        *,
        steps: int | None = None,
        path: str | None = None,
    ) -> None:
        command = window.command
        first = window.first_step if window.first_step >= 0 else command.start_step
        count = command.steps if steps is None else steps
        self._report(command.window_id, state, reason, first, count, path, dict(window.cost_ms))


def _call_at_exit(last_act: Callable[[], None]) -> None:
    """Register for the end of the process; children of multiprocessing leave without atexit."""
    if multiprocessing.parent_process() is None:
        atexit.register(last_act)
    else:
        multiprocessing.util.Finalize(None, last_act, exitpriority=_FINALIZER_PRIORITY)
