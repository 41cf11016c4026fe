"""Everything beside the training: in the rank, in the hub, in the launcher.

`watch` is for scripts that say themselves where a step ends; it is imported when it is asked for.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perftui.trainer.probe.watch import watch

__all__ = ["watch"]


def __getattr__(name: str) -> object:
    if name == "watch":
        from perftui.trainer.probe.watch import watch

        return watch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
