"""What is said in the corner of the screen: readable at any size, once, and wherever a key can do nothing."""

import asyncio
import time

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets._toast import Toast

from perftui.ipc.view import RunView
from perftui.tui.app import DashboardApp
from perftui.tui.config.settled import PANEL_WORDS, Config, PanelWord
from perftui.tui.glyphs import Glyphs
from perftui.tui.picker import PickerApp
from tests.tui import scenes
from tests.tui.played import LARGE, SMALL, with_app
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")
BARE = msgspec.structs.replace(scenes.starved(), findings=[])


def said(app: DashboardApp) -> list[str]:
    return [str(toast.render()) for toast in app.screen.query(Toast)]


def test_a_key_that_is_held_says_it_once() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press(*["r"] * 30)
        await shown(pilot, "no finding so far proposes a change of settings")
        await pilot.pause(0.2)
        assert len(said(app)) == 1
        await pilot.press("f", "enter", "enter", "c")
        await shown(pilot, "there is no finding here to copy")
        assert len(said(app)) == 3, "other words stand beside it"

    with_app(BARE, SMALL, play)


def test_what_is_said_again_as_it_goes_stands_on() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        app.notify("it is so", timeout=1.0)
        await shown(pilot, "it is so")
        until_s = time.monotonic() + 1.7
        while time.monotonic() < until_s:
            await pilot.pause(0.1)
            app.notify("it is so", timeout=1.0)
        await pilot.pause(0.1)
        assert len(said(app)) == 1
        await until(pilot, lambda: not said(app), "gone at last")

    with_app(BARE, SMALL, play)


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
def test_it_is_readable_on_a_small_screen(size: tuple[int, int]) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("r")
        await shown(pilot, "no finding so far proposes a change")

    with_app(BARE, size, play)


@pytest.mark.parametrize(
    ("key", "words"), [("x", "there is no relaunch to close"), ("c", "no profiling window is open")]
)
def test_a_key_that_has_nothing_to_do_says_so(key: str, words: str) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press(key)
        await shown(pilot, words)
        assert hub.commands == []
        if key == "c":
            await pilot.press("w")
            await until(pilot, lambda: app.screen is not app._overview, "the windows")  # pyright: ignore[reportPrivateUsage]
            await pilot.press("c")
            await until(pilot, lambda: len(said(app)) == 1, "said there too")

    with_app(BARE, LARGE, play)


PANELS: tuple[PanelWord, ...] = ("steps", "output")


@pytest.mark.parametrize("key", ["greater_than_sign", "less_than_sign", "v"])
@pytest.mark.parametrize("panels", [PANEL_WORDS, PANELS], ids=["cards", "neither"])
def test_without_a_table_of_ranks_sorting_says_so(panels: tuple[PanelWord, ...], key: str) -> None:
    async def scene() -> None:
        with ScriptedHub("demo-1", scenes.two_ranks()):
            app = DashboardApp("demo-1", Glyphs(), config=Config(panels=panels))
            async with app.run_test(size=LARGE, notifications=True) as pilot:
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await pilot.press(key)
                await shown(pilot, "there is no table of ranks here to sort")

    asyncio.run(scene())


@pytest.mark.parametrize("key", ["p", "P", "r", "s"])
def test_a_read_only_dashboard_says_why_a_key_does_nothing(key: str) -> None:
    async def scene() -> None:
        with ScriptedHub("demo-1", scenes.starved()) as hub:
            app = DashboardApp("demo-1", Glyphs(), read_only=True)
            async with app.run_test(size=LARGE, notifications=True) as pilot:
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await pilot.press(key)
                await shown(pilot, "read-only: this dashboard changes nothing")
                assert hub.commands == []

    asyncio.run(scene())


def test_ctrl_c_says_how_one_leaves_and_stops_by_the_keys_in_force() -> None:
    async def scene(view: RunView, words: str, *, read_only: bool = False) -> None:
        config = Config(keys={"detach": ("ctrl+x",), "stop": ("X",)})
        with ScriptedHub("demo-1", view) as hub:
            app = DashboardApp("demo-1", Glyphs(), config=config, read_only=read_only)
            async with app.run_test(size=LARGE, notifications=True) as pilot:
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await pilot.press("ctrl+c")
                await until(pilot, lambda: bool(said(app)), "an answer")
                assert said(app) == [words]
                assert hub.commands == []
                assert "quit" not in text(app)

    goes_on = "^x on the overview leaves, and the training goes on"
    asyncio.run(scene(scenes.starved(), f"{goes_on}; X stops it"))
    asyncio.run(scene(scenes.starved(), goes_on, read_only=True))
    asyncio.run(scene(scenes.ended(), "^x on the overview leaves"))


def test_ctrl_c_in_the_list_of_runs() -> None:
    async def scene() -> None:
        app = PickerApp([], Glyphs())
        async with app.run_test(size=SMALL, notifications=True) as pilot:
            await pilot.press("ctrl+c")
            await shown(pilot, "q leaves")

    asyncio.run(scene())
