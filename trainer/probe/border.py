"""The fail-open border round our hooks in the user's process: what goes wrong is counted, never raised.

The only place in the rank that catches everything. A hook that keeps failing switches itself off.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

Foreign: TypeAlias = Any
"""What belongs to the user's code or to torch: any type, passed through as it is."""
FAILURES_ALLOWED = 5
"""After so many failures a hook is off for good."""
_REPORTS_KEPT = 32


class Border:
    """Wraps hooks; counts and keeps what they raised until the agent reports it."""

    def __init__(self) -> None:
        self.errors = 0
        self._reports: deque[str] = deque(maxlen=_REPORTS_KEPT)

    def guard(self, where: str, hook: Callable[..., Any]) -> Callable[..., Any]:
        """Return `hook` made harmless: it returns None where it would have raised, or is off."""
        failures = 0
        acting = hook

        def guarded(*args: Foreign) -> Foreign:
            nonlocal failures, acting
            try:
                return acting(*args)
            except Exception as error:  # noqa: BLE001 - the border
                failures += 1
                off = failures >= FAILURES_ALLOWED
                if off:
                    acting = _nothing
                self._count(where, error, off=off)
                return None

        return guarded

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


def _nothing(*_args: Foreign) -> None:
    """Stand in for a hook that is off."""
