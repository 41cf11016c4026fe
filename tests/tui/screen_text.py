"""What stands on an app's screen, and waiting for it."""

import time
from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot


def text(app: App[Any]) -> str:
    """The screen as text, as the terminal would get it."""
    strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


async def until(pilot: Pilot[Any], condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition, and show the screen when it never comes."""
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"never: {what}\n{text(pilot.app)}")
        await pilot.pause(0.02)
