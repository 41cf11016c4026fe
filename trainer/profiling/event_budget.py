"""How many steps a window may record: what a recording costs the training grows with its events. Pure.

Stopping a capture takes the training thread some microseconds an event, with the GIL held: 3 to 6 by itself,
two to three times that with shapes or stacks. How many events a step has is known after the first window
with a preset; until then a window is short.
"""

from collections.abc import Mapping

from perftui.ipc.messages import Preset

STEPS_MAX = 50
FIRST_STEPS = 3
"""Of a window whose events a step are not known."""
_LEAST_STEPS = 2
EVENTS: Mapping[Preset, int] = {"light": 150_000, "shapes": 50_000, "memory": 100_000, "stacks": 75_000}
"""Most events in one window: about half a second of stall."""


def clamped_steps(asked: int, preset: Preset, events_per_step: float | None) -> tuple[int, str | None]:
    """Return how many steps to record, and why that is fewer than asked for (else None).

    Args:
        asked: steps asked for, at least 1.
        preset: what the profiler records.
        events_per_step: as an earlier window with this preset had it; None: there was none.
    """
    if events_per_step is None:
        if asked <= FIRST_STEPS:
            return asked, None
        return FIRST_STEPS, (
            f"{FIRST_STEPS} of {asked} steps: how many events a step has with the preset {preset} "
            "is known only after its first window"
        )
    budget = EVENTS[preset]
    fitting = int(budget / max(1.0, events_per_step))
    allowed = max(_LEAST_STEPS if fitting else 1, fitting)
    if asked <= allowed:
        return asked, None
    return allowed, (
        f"{allowed} of {asked} steps: a step has {events_per_step:,.0f} events, "
        f"and a window may have {budget:,}"
    )
