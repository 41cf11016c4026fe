"""One reading, figure by figure: each call guarded alone, each value checked to be possible."""

from collections.abc import Callable
from typing import TypeVar

_Value = TypeVar("_Value")


class GuardedFigures:
    """Takes figures from a library that fails and lies; collects why a figure is missing."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error
        self.missing: dict[str, str] = {}

    def take(self, name: str, call: Callable[[], _Value]) -> _Value | None:
        """Return what the call gives; None when it fails, with the library's reason kept."""
        try:
            return call()
        except (self._error, ValueError) as error:  # ValueError: a text that is none
            self.missing[name] = str(error) or type(error).__name__
            return None

    def scaled(self, name: str, raw: int | None, scale: float, low: float, high: float) -> float | None:
        """Return `raw` in the figure's unit; None when there is none, or when it cannot be true."""
        if raw is None:
            return None
        value = raw * scale
        if low <= value <= high:
            return value
        self.missing[name] = f"the driver reports an impossible value ({raw})"
        return None
