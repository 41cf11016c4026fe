"""The profiling window that the environment asks for: `PERFTUI_PROFILE=start:steps`.

Apart from the agent, which starts when training has begun: the training thread must know before that.
"""

from perftui.ipc.messages import ArmWindow
from perftui.ipc.profile_schedule import first_window
from perftui.trainer.profiling.event_budget import clamped_steps

_WARM_STEPS = 2
"""It is the first window of the process."""


def wanted_window() -> tuple[int, int] | None:
    """Return (first step, number of steps); None where nothing, or nothing sensible, is asked for."""
    return first_window()


def order_of(wanted: tuple[int, int], directory: str) -> tuple[ArmWindow, str | None]:
    """Return the order for that window, and why it has fewer steps than asked for (else None)."""
    start, asked = wanted
    steps, shortened = clamped_steps(asked, "light", None)
    order = ArmWindow(
        window_id=f"start{start}",
        start_step=start,
        warm_steps=_WARM_STEPS,
        steps=steps,
        preset="light",
        directory=directory,
    )
    return order, shortened
