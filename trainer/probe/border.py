"""The fail-open border round our hooks in the user's process: what goes wrong is counted, never raised.

The only place in the rank that catches everything. A hook that keeps failing switches itself off. As every
hook goes through here, here it is measured what they cost.
"""

from collections import deque
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import Any, TypeAlias

Foreign: TypeAlias = Any
"""What belongs to the user's code or to torch: any type, passed through as it is."""
FAILURES_ALLOWED = 5
"""After so many failures a hook is off for good."""
_REPORTS_KEPT = 32
_MEASURE_EVERY_STEPS = 64
_MEASURE_FROM_STEP = 8


class Border:
    """Wraps hooks; counts and keeps what they raised until the agent reports it."""

    def __init__(self) -> None:
        self.errors = 0
        self.hook_ns = 0
        """Time spent in hooks in the steps that were measured."""
        self.hook_steps = 0
        """How many those are."""
        self._measuring = False
        self._in_measured_step = False
        self._next_measured = _MEASURE_FROM_STEP
        self._training_thread = 0
        self._reports: deque[str] = deque(maxlen=_REPORTS_KEPT)

    def guard(self, where: str, hook: Callable[..., Any]) -> Callable[..., Any]:
        """Return `hook` made harmless: it returns None where it would have raised, or is off."""
        failures = 0

        def guarded(*args: Foreign) -> Foreign:
            nonlocal failures
            if failures >= FAILURES_ALLOWED:
                return None
            began = 0
            if self._measuring and get_ident() == self._training_thread:
                self._measuring = False  # hooks inside this one are a part of it
                began = perf_counter_ns()
            try:
                return hook(*args)
            except Exception as error:  # noqa: BLE001 - the border
                failures += 1
                self._count(where, error, off=failures >= FAILURES_ALLOWED)
                return None
            finally:
                if began:
                    self.hook_ns += perf_counter_ns() - began
                    self._measuring = self._in_measured_step

        return guarded

    def step_begins(self, step: int) -> None:
        """A step begins; of every 64th the time in hooks is measured, so that measuring costs nothing."""
        if self._in_measured_step:
            self.hook_steps += 1
        self._in_measured_step = self._measuring = step >= self._next_measured
        if self._in_measured_step:
            self._training_thread = get_ident()  # hooks elsewhere run beside it
            self._next_measured = step + _MEASURE_EVERY_STEPS

    def _count(self, where: str, error: Exception, *, off: bool) -> None:
        self.errors += 1
        end = "; this hook is off now" if off else ""
        self._reports.append(f"{where}: {type(error).__name__}: {str(error)[:200]}{end}")

    def take_reports(self) -> list[str]:
        """Return what was caught since the last call, oldest first."""
        taken: list[str] = []
        while self._reports:
            taken.append(self._reports.popleft())
        return taken
