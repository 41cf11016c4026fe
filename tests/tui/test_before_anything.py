"""Pages of a run of which there is nothing yet: no rank, no word of its hub, no room."""

import asyncio

import msgspec
import pytest
from textual.pilot import Pilot

from perftui.ipc.places import make_run_places
from perftui.tui.app import DashboardApp
from perftui.tui.glyphs import Glyphs
from tests.tui import page_scenes, scenes
from tests.tui.played import SMALL, with_app
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")
NOTHING = msgspec.structs.replace(
    scenes.starved(), ranks=[], findings=[], header=scenes.header(state="starting", step=None)
)


def test_without_a_rank_nobody_is_said_to_be_asked() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("m")
        await shown(pilot, "── ranks over time ──")
        await shown(pilot, "no rank yet")
        assert "asking" not in text(app)
        assert hub.questions == []
        await pilot.press("m", "enter")
        await shown(pilot, "── no rank yet ──")

    with_app(NOTHING, SMALL, play)


def test_ranks_over_time_say_where_there_is_no_room_for_them() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("m")
        await shown(pilot, "this screen is too")

    with_app(page_scenes.pages(), (24, 12), play)


def test_nothing_is_frozen_before_there_is_a_picture() -> None:
    async def scene() -> None:
        make_run_places("demo-1")
        app = DashboardApp("demo-1", Glyphs())
        async with app.run_test(size=SMALL, notifications=True) as pilot:
            await pilot.press("space", "left")
            await shown(pilot, "there is no picture to freeze yet")
            with ScriptedHub("demo-1", scenes.starved()):
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await shown(pilot, "▲ CRITICAL")

    asyncio.run(scene())
