"""Plays a scene with the real app at one end of real sockets and a scripted hub at the other."""

import asyncio
from collections.abc import Awaitable, Callable

from textual.pilot import Pilot

from perftui.ipc.view import RunView
from perftui.tui.app import DashboardApp
from perftui.tui.glyphs import Glyphs
from tests.tui import scenes
from tests.tui.screen_text import until
from tests.tui.scripted_hub import ScriptedHub

SMALL, LARGE = (80, 24), (120, 40)
UNICODE = Glyphs()


def with_app(
    view: RunView,
    size: tuple[int, int],
    play: Callable[[DashboardApp, Pilot[None], ScriptedHub], Awaitable[None]],
    glyphs: Glyphs = UNICODE,
) -> None:
    """Serve a view, show it, and play a scene with both ends."""

    async def scene() -> None:
        history = [scenes.history(each.rank, 200) for each in view.ranks]
        with ScriptedHub("demo-1", view, history) as hub:
            app = DashboardApp("demo-1", glyphs)
            async with app.run_test(size=size, notifications=True) as pilot:
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await play(app, pilot, hub)

    asyncio.run(scene())
