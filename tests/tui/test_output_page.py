"""The output on its page: long lines, and words to look for that are long, pasted or not to be shown."""

import asyncio

import pytest
from textual import events
from textual.pilot import Pilot

from perftui.tui.app import DashboardApp
from perftui.tui.glyphs import Glyphs
from tests.tui import scenes
from tests.tui.played import with_app
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")
LONG = "begin " + "データ 12345 " * 200 + "NEEDLE end"


def printed(hub: ScriptedHub, *lines: str) -> None:
    hub.say(scenes.starved(), output=[*(f"line {number}" for number in range(50)), *lines])


def test_the_newest_line_is_seen_however_long_it_is() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        printed(hub, LONG)
        await pilot.press("o")
        await shown(pilot, "begin データ")
        await pilot.press("z")
        await shown(pilot, "NEEDLE end")
        body = text(app).splitlines()[2:-1]
        assert all(body), "no line of the page is empty"
        for _ in range(200):
            await pilot.press("k")
            if "begin データ" in text(app):
                break
        assert text(app).splitlines()[2].startswith(" begin データ")
        assert "held" in text(app)
        await pilot.press("pagedown")
        await until(pilot, lambda: "begin" not in text(app), "a page on, within the line")
        await pilot.press("g")
        await shown(pilot, "epoch 1 step  360")
        await pilot.press("G")
        await shown(pilot, "NEEDLE end")
        assert "held" not in text(app)

    with_app(scenes.starved(), (60, 16), play)


@pytest.mark.parametrize("wraps", [False, True], ids=["cut", "broken"])
def test_what_was_found_far_in_a_long_line_is_in_view(*, wraps: bool) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        printed(hub, LONG, *(f"later {number}" for number in range(30)))
        await pilot.press("o", *(["z"] if wraps else []), "slash", *"NEEDLE", "enter")
        await shown(pilot, "/NEEDLE  1 of 1")
        assert "NEEDLE" in "\n".join(text(app).splitlines()[2:-1])

    with_app(scenes.starved(), (60, 16), play)


def test_how_often_it_was_found_is_told_of_the_longest_words() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("o", "slash")
        app.post_message(events.Paste("\x1b[31mデータ\x07" + "long " * 2000 + "\nanother line\n"))
        line = await shown(pilot, "  nowhere ──")
        assert "/データlong long" in line
        typed = line.splitlines()[-2]
        assert typed.startswith(" データlong long")
        await pilot.press("escape", "slash")
        app.post_message(events.Paste("\n"))
        app.post_message(events.Paste("\x1b[1mstep  41\x1b[0m"))
        await shown(pilot, "/step  41  1 of 1 ──")

    with_app(scenes.starved(), (60, 16), play)


def test_no_line_is_told_where_nothing_was_printed() -> None:
    async def scene() -> None:
        with ScriptedHub("demo-1", scenes.starved()) as hub:
            hub.output = []
            app = DashboardApp("demo-1", Glyphs())
            async with app.run_test(size=(60, 16)) as pilot:
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await pilot.press("o")
                assert "line 1" not in await shown(pilot, "output 0 lines")

    asyncio.run(scene())
