"""One reading, figure by figure: each call guarded alone, each value checked to be possible."""

import math
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from perftui.trainer.telemetry.current_call import CurrentCall

_Value = TypeVar("_Value")
_Arguments = ParamSpec("_Arguments")


class GuardedFigures:
    """Takes figures from a library that fails and lies; collects why a figure is missing.

    Args:
        error: what the library raises.
        current: where the call that is going on is written down.
    """

    def __init__(self, error: type[Exception], current: CurrentCall) -> None:
        self._error = error
        self._current = current
        self.missing: dict[str, str] = {}

    def take(
        self,
        name: str,
        call: Callable[_Arguments, _Value],
        *arguments: _Arguments.args,
        **named: _Arguments.kwargs,
    ) -> _Value | None:
        """Return what the call gives; None when it fails, with the library's reason kept."""
        try:
            return self.attempt(call, *arguments, **named)
        except (self._error, ValueError) as error:  # ValueError: a text that is none
            self.missing[name] = " ".join(str(error).split()) or type(error).__name__
            return None

    def attempt(
        self, call: Callable[_Arguments, _Value], *arguments: _Arguments.args, **named: _Arguments.kwargs
    ) -> _Value:
        """Make a call that is written down while it goes on; raises what it raises."""
        self._current.begin(getattr(call, "__name__", "a call"))
        try:
            return call(*arguments, **named)
        finally:
            self._current.end()

    def lose(self, names: tuple[str, ...], reason: str) -> None:
        """Say why figures are missing."""
        self.missing.update(dict.fromkeys(names, reason))

    def scaled(self, name: str, raw: float | None, scale: float, low: float, high: float) -> float | None:
        """Return `raw` in the figure's unit; None when there is none, or when it cannot be true."""
        if raw is None:
            self.missing.setdefault(name, "no value")
            return None
        value = raw * scale
        if math.isfinite(value) and low <= value <= high:
            return value
        self.missing[name] = f"the driver reports an impossible value ({raw:g})"
        return None

    def whole(self, name: str, raw: float | None, low: int, high: int) -> int | None:
        """Return `raw` where it is possible; else None with the reason."""
        value = self.scaled(name, raw, 1, low, high)
        return None if value is None else int(value)
