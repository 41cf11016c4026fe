"""What stands on an app's screen, and waiting for it."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from perftui.tui.renderables.lines import Line, plain


def text(app: App[Any]) -> str:
    """The screen as text, as the terminal would get it."""
    strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def texts(lines: Sequence[Line]) -> list[str]:
    """Lines of a picture as text, without what is blank at their ends."""
    return [plain(part).rstrip() for part in lines]


async def shown(pilot: Pilot[Any], words: str) -> str:
    """Wait for words on the screen, and return all of it."""
    await until(pilot, lambda: words in text(pilot.app), f"{words!r} on the screen")
    return text(pilot.app)


async def until(pilot: Pilot[Any], condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition, and show the screen when it never comes."""
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"never: {what}\n{text(pilot.app)}")
        await pilot.pause(0.02)
