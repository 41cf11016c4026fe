"""The profiling window that the environment asks for: `PERFTUI_PROFILE=start:steps`.

Apart from the agent, which starts when training has begun: the training thread must know before that.
"""

import os


def wanted_window() -> tuple[int, int] | None:
    """Return (first step, number of steps); None where nothing, or nothing sensible, is asked for."""
    start, _, steps = os.environ.get("PERFTUI_PROFILE", "").partition(":")
    return (int(start), int(steps)) if start.isdigit() and steps.isdigit() else None
