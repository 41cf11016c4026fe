"""How a launch that goes on stands, in words and as a bar: the same for a relaunch and for a search."""

from perftui.ipc.view import LaunchProgress
from perftui.tui import format as fmt

STAGES = {"warming": "warming up"}
"""Other words than the states' own."""


def elapsed_words(launch: LaunchProgress) -> str:
    """Return `2:10 of at most 4:00`; without a limit the time alone, and nothing where none is told."""
    if launch.elapsed_s is None:
        return ""
    most = "" if launch.limit_s is None else f" of at most {fmt.duration(launch.limit_s)}"
    return f"{fmt.duration(launch.elapsed_s)}{most}"


def filled_cells(launch: LaunchProgress, room: int) -> int:
    """Return how many of `room` cells a launch that goes on has filled: all when it ends."""
    share = min(max(launch.share or 0.0, 0.0), 1.0)
    return min(int(share * room), max(0, room - 1))
