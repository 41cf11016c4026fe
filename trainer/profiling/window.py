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

from perftui.ipc.messages import BLANK, ArmWindow, WindowReport, WindowState
from perftui.trainer.profiling.main_thread import MainThreadCall
from perftui.trainer.profiling.open_window import OpenWindow
from perftui.trainer.profiling.script_profilers import SCRIPT_PROFILERS
from perftui.trainer.profiling.torch_session import PROFILER_ERRORS, ProfilerSession, profiler_enabled
from perftui.trainer.profiling.trace_saver import Saved, TraceSaver

Report: TypeAlias = Callable[[WindowReport], None]
"""Called from any thread; the report's path is absolute, its sender blank."""

RECORDING_LIMIT_S = 60.0
WARM_LIMIT_S = 60.0
"""From the warm-up's beginning to the first recorded step."""
_FINALIZER_PRIORITY = 1000
"""Above that of whoever reports: the last report must still leave."""
_SCRIPT_PROFILER = "the script's own torch.profiler is active"


class WindowRunner:
    """The profiling windows of one rank.

    Attributes:
        active: whether the calls below must be made: the only thing read outside windows.
        recording: whether steps are not like others: the profiler is on, warm steps included, or its
            results are being written.
    """

    def __init__(self, report: Report) -> None:
        self.active = False
        self.recording = False
        self._report = report
        self._lock = threading.RLock()
        self._window: OpenWindow | None = None
        self._saver = TraceSaver()
        self._pid = os.getpid()
        self._acting = False
        self._main_thread = MainThreadCall(self.hold)
        SCRIPT_PROFILERS.yield_by(self._give_way)
        _call_at_exit(self._at_exit)

    @property
    def begins_at(self) -> int:
        """The step before which a window does something next; -1 for as soon as possible, or none."""
        window = self._window
        return window.prepare_from if window is not None and window.placed else -1

    def arm(self, order: ArmWindow, current_step: int, shortened: str | None = None) -> None:
        """Take a window on; any thread. Reports armed, late, busy or unsupported.

        Args:
            order: the window.
            current_step: index of the step that runs now.
            shortened: why the order has fewer steps than were asked for, to be told with the result.
        """
        with self._lock:
            SCRIPT_PROFILERS.watch()
            window = OpenWindow(order, shortened=shortened)
            if self._window is not None or self._saver.busy:
                self._tell(window, "busy", "another window is open in this rank")
            elif SCRIPT_PROFILERS.prepared:
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
        """End a window without a result; any thread. One that is being saved is left to end by itself."""
        with self._lock:
            window = self._window
            if window is not None and window.command.window_id == window_id:
                self._end_where_it_runs(window, "cancelled", "cancelled")

    def keep_watch(self) -> None:
        """Hold the limits where the training comes by no hook; any thread, some times a second.

        A training outside the main thread cannot be reached: there they are held at its next hook.
        """
        window = self._window
        if window is None or window.thread != threading.main_thread().ident:
            return
        if _overdue(window) or window.end_because is not None:
            self._main_thread.ask()

    # In the training thread

    def at_boundary(self, step: int) -> None:
        """Go on with the window before the step `step` begins; more calls with the same step are harmless."""
        self._guarded(lambda window: self._advance(window, step))

    def at_validation(self, step: int) -> None:
        """A validation has begun before the step `step`, or goes on: what is recorded ends with what it has.

        A window that has not begun to record waits for the validation's end.
        """
        self._guarded(lambda window: self._end_before_validation(window, step))

    def hold(self) -> None:
        """Hold the limits within a step; cheap, and called while `recording`."""
        self._guarded(self._hold)

    def _guarded(self, act: Callable[[OpenWindow], None]) -> None:
        with self._lock:
            window = self._window
            if window is None or self._acting:  # acting: `hold` has broken into one of these calls
                return
            self._acting = True
            try:
                if window.end_because is not None:
                    self._abort(window, window.end_because, window.end_state)
                else:
                    act(window)
            except PROFILER_ERRORS as error:
                self._abort(window, f"the profiler failed: {error}", "failed")
            finally:
                self._acting = False

    def _advance(self, window: OpenWindow, step: int) -> None:
        if not window.placed:
            window.place(step)
        if window.phase == "recording":
            self._record_on(window, step)
        elif window.phase == "warming":
            self._hold(window)
            if step >= window.command.start_step:
                self._start(window, step)
        elif step > window.prepare_until:
            self._end(window, "late", f"step {step} had begun before the profiler could be warmed")
        elif step >= window.prepare_from:
            self._prepare(window, step)

    def _prepare(self, window: OpenWindow, step: int) -> None:
        if SCRIPT_PROFILERS.prepared or profiler_enabled():
            self._end(window, "busy", _SCRIPT_PROFILER)
            return
        began = time.perf_counter()
        self.recording = True
        window.thread = threading.get_ident()
        window.session = ProfilerSession(window.command.preset)
        with SCRIPT_PROFILERS.ours():
            window.session.prepare()
        window.phase = "warming"
        window.prepared_s = time.monotonic()
        window.add_cost("prepare", began)
        self._tell(window, "warming")
        if step >= window.command.start_step:
            self._start(window, step)

    def _start(self, window: OpenWindow, step: int) -> None:
        session = window.session
        if session is None:  # ended by the time limit
            return
        if profiler_enabled():
            window.session = None
            self._end(window, "busy", _SCRIPT_PROFILER)
            return
        began = time.perf_counter()
        session.start()
        window.begin(step)
        window.add_cost("start", began)
        self._tell(window, "recording")

    def _record_on(self, window: OpenWindow, step: int) -> None:
        done, asked = step - window.first_step, window.command.steps
        if step <= window.marked_step:
            self._hold(window)
        elif done >= asked:
            self._stop(window, done, "done", window.shortened)
        elif _overdue(window):
            limit = f"ended by the limit of {RECORDING_LIMIT_S:.0f} s"
            self._stop(window, done, "truncated", f"{limit} with {done} of {asked} steps")
        elif window.session is not None and window.session.ended_early():
            full = "the profiler's buffers on the device were full"
            self._stop(window, done, "truncated", f"{full} after {done} of {asked} steps")
        else:
            window.close_mark()
            window.open_mark(step)

    def _end_before_validation(self, window: OpenWindow, step: int) -> None:
        if window.phase != "recording":
            self._hold(window)
            return
        done, asked = step - window.first_step, window.command.steps
        if done >= asked:
            self._stop(window, done, "done", window.shortened)
        elif done > 0:
            self._stop(window, done, "truncated", f"a validation began after {done} of {asked} steps")
        else:
            self._abort(window, "a validation began inside the first step; try again after it")

    def _hold(self, window: OpenWindow) -> None:
        if not _overdue(window):
            return
        if window.phase == "recording":
            reason = f"step {window.marked_step} took longer than the limit of {RECORDING_LIMIT_S:.0f} s"
        else:
            reason = f"the first step to record did not come within {WARM_LIMIT_S:.0f} s of the warm-up"
        self._abort(window, reason)

    def _stop(self, window: OpenWindow, steps: int, state: WindowState, reason: str | None) -> None:
        """End the recording and hand the results to the worker."""
        session = window.session
        if session is None:
            return
        began = time.perf_counter()
        window.close_mark()
        if session.drain():
            window.add_cost("drain", began)
            began = time.perf_counter()
        results = [session.stop()]
        memory, session.memory = session.memory, None
        window.session = None
        window.add_cost("stop", began)
        self._window = None  # from here on only the worker knows it; `active` and `recording` last until then
        self._tell(window, "saving", steps=steps)
        saving = time.perf_counter()

        def done(saved: Saved) -> None:
            window.add_cost("save", saving, stalls=False)
            window.cost_ms |= saved.cost_ms
            with self._lock:
                self.active = self._window is not None
                self.recording = self._window is not None and self._window.phase != "armed"
            if saved.failure is not None:
                self._tell(window, "failed", saved.failure, steps=steps)
            else:
                self._tell(window, state, reason, steps=steps, saved=saved)

        try:
            self._saver.start(results, memory, window.trace_stem(steps), done)
        except RuntimeError as error:
            self._end(window, "failed", f"the trace could not be saved: {error}")

    # Ends that are not planned

    def shutdown(self, reason: str) -> None:
        """End what is open, as aborted, and wait for a trace being written. Harmless when repeated.

        From another thread a window with the profiler on ends at the next boundary, or with the process.
        """
        with self._lock:
            if self._window is not None:
                self._end_where_it_runs(self._window, reason, "aborted")
        self._saver.wait()

    def _at_exit(self) -> None:
        """In the main thread, after the script: even a capture of another thread must be ended now."""
        if os.getpid() != self._pid:
            return  # a forked child: the capture belongs to its parent
        with self._lock:
            window = self._window
            if window is not None:
                reason = window.end_because or "the process ended inside the window"
                self._abort(window, reason, window.end_state)
        self._saver.wait()

    def _give_way(self) -> None:
        """The script opens a profiler of its own: end ours first, while it can still be ended cleanly."""
        with self._lock:
            window = self._window
            if window is not None and window.phase != "armed":
                self._abort(window, "the script opened its own torch.profiler")

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

    def _end_where_it_runs(self, window: OpenWindow, reason: str, state: WindowState) -> None:
        if window.belongs_elsewhere:
            window.end_because, window.end_state = reason, state
        else:
            self._abort(window, reason, state)

    def _end(self, window: OpenWindow, state: WindowState, reason: str) -> None:
        if self._window in (window, None):
            self._window = None
            self.active = self.recording = False
        self._tell(window, state, reason)

    def _tell(
        self,
        window: OpenWindow,
        state: WindowState,
        reason: str | None = None,
        *,
        steps: int | None = None,
        saved: Saved | None = None,
    ) -> None:
        command = window.command
        self._report(
            WindowReport(
                **BLANK,
                window_id=command.window_id,
                state=state,
                reason=reason,
                start_step=window.first_step if window.first_step >= 0 else command.start_step,
                steps=command.steps if steps is None else steps,
                path=str(saved.trace) if saved and saved.trace else None,
                cost_ms=dict(window.cost_ms),
                events=saved.events if saved else 0,
                preset=command.preset,
                snapshot=str(saved.snapshot) if saved and saved.snapshot else None,
            )
        )


def _overdue(window: OpenWindow) -> bool:
    now = time.monotonic()
    if window.phase == "recording":
        return now - window.started_s > RECORDING_LIMIT_S
    return window.phase == "warming" and now - window.prepared_s > WARM_LIMIT_S


def _call_at_exit(last_act: Callable[[], None]) -> None:
    """Register for the end of the process; children of multiprocessing leave without atexit."""
    if multiprocessing.parent_process() is None:
        atexit.register(last_act)
    else:
        multiprocessing.util.Finalize(None, last_act, exitpriority=_FINALIZER_PRIORITY)
