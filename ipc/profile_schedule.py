"""When profiling windows open by themselves: every 500 steps, when steps take 30 % longer, once half way.

Written as `20:3,every=500:3,jump=30%,look` in PERFTUI_PROFILE, or as options of `perftui run`. Off by
default, but for the look of a bounded run without a dashboard.
"""

import os
from collections.abc import Mapping

import msgspec

from perftui.ipc.errors import UsageError

VARIABLE = "PERFTUI_PROFILE"
MOST_WINDOWS = 10
"""Windows that a schedule opens over a run, unless said otherwise."""
_JUMP_STEPS = 3
_LEAST_EVERY = 20
_LEAST_JUMP = 0.05


class ProfileSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """Windows that the hub opens without being asked."""

    every_steps: int | None = None
    """A window at each multiple of this."""
    steps: int = 3
    """Recorded steps of each."""
    jump_share: float | None = None
    """A window when the step time has risen by this share (0.3 = 30 %)."""
    most: int = MOST_WINDOWS
    """Windows of both kinds together; then the schedule is over."""
    look: bool = False
    """One window, once the run is steady, about half way to its limit; none where another was opened."""

    @property
    def wanted(self) -> bool:
        """Whether it opens any."""
        return self.look or (self.most > 0 and (self.every_steps is not None or self.jump_share is not None))


def parse_every(text: str) -> tuple[int, int]:
    """Return (every so many steps, recorded steps) of `500:3` or `500`.

    Raises:
        UsageError: not of that form, or more often than every 20 steps.
    """
    every, colon, steps = text.partition(":")
    if not every.isdigit() or (colon and not steps.isdigit()):
        raise UsageError(f"{text}: expected EVERY:STEPS, such as 500:3")
    found = int(every), int(steps) if colon else _JUMP_STEPS
    if found[0] < _LEAST_EVERY or not 1 <= found[1] <= found[0] // 4:
        raise UsageError(
            f"{text}: expected a window every {_LEAST_EVERY} steps or less often, "
            "of at most a quarter of these steps"
        )
    return found


def parse_share(text: str) -> float:
    """Return 0.3 for `30%` or `0.3`.

    Raises:
        UsageError: not of that form, or below 5 %.
    """
    number, percent = text.removesuffix("%").strip(), text.endswith("%")
    try:
        share = float(number) / (100.0 if percent else 1.0)
    except ValueError:
        share = -1.0
    if not _LEAST_JUMP <= share < 100.0:
        raise UsageError(f"{text}: expected a rise of 5 % or more, such as 30%")
    return share


def schedule_of(
    every: str | None, jump: str | None, most: int | None, *, look: bool = False
) -> ProfileSchedule | None:
    """Return the schedule that these words ask for; None for none.

    Raises:
        UsageError: a word has not the form asked for.
    """
    if every is None and jump is None and not look:
        return None
    if most is not None and most < 1:
        raise UsageError(f"{most}: expected at least one window")
    every_steps, steps = parse_every(every) if every is not None else (None, _JUMP_STEPS)
    return ProfileSchedule(
        every_steps=every_steps,
        steps=steps,
        jump_share=parse_share(jump) if jump is not None else None,
        most=MOST_WINDOWS if most is None else most,
        look=look,
    )


def schedule_in(environment: Mapping[str, str]) -> ProfileSchedule | None:
    """Return the schedule in PERFTUI_PROFILE; None for none.

    Raises:
        UsageError: the variable cannot be understood.
    """
    words: dict[str, str] = {}
    look = False
    for part in filter(None, (part.strip() for part in environment.get(VARIABLE, "").split(","))):
        name, equals, value = part.partition("=")
        if equals and name in ("every", "jump", "most"):
            words[name] = value
        elif part == "look":
            look = True
        elif equals or not _is_window(part):
            raise UsageError(
                f"{VARIABLE}={environment[VARIABLE]}: {part} is not one of START:STEPS, every=500:3, "
                "jump=30%, most=10, look"
            )
    most = words.get("most")
    if most is not None and not most.isdigit():
        raise UsageError(f"{VARIABLE}: most={most}: expected a number")
    return schedule_of(words.get("every"), words.get("jump"), None if most is None else int(most), look=look)


def first_window(environment: Mapping[str, str] = os.environ) -> tuple[int, int] | None:
    """Return the window that PERFTUI_PROFILE asks for at a fixed step, as (first step, steps); else None."""
    for part in environment.get(VARIABLE, "").split(","):
        if _is_window(part.strip()):
            start, _, steps = part.strip().partition(":")
            return int(start), int(steps)
    return None


def _is_window(text: str) -> bool:
    start, _, steps = text.partition(":")
    return start.isdigit() and steps.isdigit()
