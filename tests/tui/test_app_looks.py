"""What the real app looks like: keys and words in their places, in any size, ASCII and without colour."""

import msgspec
import pytest
from textual.binding import Binding
from textual.pilot import Pilot

from perftui.tui import keys
from perftui.tui.app import DashboardApp
from perftui.tui.glyphs import Glyphs
from tests.tui import scenes
from tests.tui.played import LARGE, SMALL, with_app
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")


def test_ascii_reaches_every_cell_of_every_screen() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "! CRITICAL")
        await shown(pilot, "wwwwwwww")
        for key in ("question_mark", "escape", "r", "escape", "w", "escape", "ctrl+p"):
            await pilot.press(key)
            await pilot.pause()
            assert text(app).isascii(), text(app)
        await shown(pilot, "Search for commands~")
        assert "??" not in text(app), "the frame of the palette has twins"

    with_app(scenes.starved(), LARGE, play, Glyphs(ascii=True, chart="block", textured=True))


def test_no_color_means_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "▲ CRITICAL")
        strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        styles = [segment.style for strip in strips for segment in strip if segment.style]
        colours = {str(colour.name) for style in styles for colour in (style.color, style.bgcolor) if colour}
        assert colours <= {"default"}

    with_app(scenes.starved(), LARGE, play)


def test_every_key_of_the_overview_is_in_the_palette_and_works_from_there() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        offered = {command.title.rpartition("  ")[0] for command in app.get_system_commands(app.screen)}
        now_and_then = ("close", "profile-end")  # only while there is something to close, or to end
        bindings = [key for key in keys.OVERVIEW if isinstance(key, Binding)]
        wanted = {key.description for key in bindings if key.id not in now_and_then}
        assert wanted <= offered
        await pilot.press("ctrl+p", *"profile")
        await shown(pilot, "Record 3 steps")
        await pilot.press("enter")
        await pilot.pause(0.2)
        await pilot.press("enter")
        await until(pilot, lambda: bool(hub.commands), "the command at the hub")

    with_app(scenes.starved(), LARGE, play)


def test_o_gives_the_output_all_the_room() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("o")
        await until(pilot, lambda: "findings 1" not in text(app), "output alone")
        await shown(pilot, "epoch 1 step  410")
        hub.say(scenes.starved(), output=["[red]not markup[/red]"])
        await shown(pilot, "[red]not markup[/red]")
        await pilot.press("o")
        await shown(pilot, "findings 1")

    with_app(scenes.starved(), SMALL, play)


def test_an_unfinished_line_stands_below_the_output_until_it_is_finished() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        hub.partial = " 31%|███   | 119/384"
        hub.say(scenes.starved())
        await shown(pilot, " 31%|███   | 119/384")
        hub.partial = " 32%|███   | 123/384"
        hub.say(scenes.starved())
        screen = await shown(pilot, " 32%|███   | 123/384")
        assert " 31%" not in screen
        assert "epoch 1 step  410" in screen
        hub.partial = ""
        hub.say(scenes.starved(), output=["epoch 1 done"])
        screen = await shown(pilot, "epoch 1 done")
        assert " 32%" not in screen

    with_app(scenes.starved(), LARGE, play)


@pytest.mark.parametrize("verdict", [False, True])
def test_all_keys_of_the_footer_fit_into_80_columns(*, verdict: bool) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await until(pilot, lambda: "q detach" in text(app).splitlines()[-1], "the last key")

    with_app(scenes.decided() if verdict else scenes.starved(), SMALL, play)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_the_remedy_of_the_leading_finding_is_seen_without_scrolling(size: tuple[int, int]) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "r relaunch with loader.num_workers 0 → 2")

    view = scenes.starved()
    many = msgspec.structs.replace(view, findings=[scenes.WORKERS, scenes.STRAGGLER, scenes.FINE])
    with_app(many, size, play)


def test_help_explains_keys_phases_and_marks() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("question_mark")
        for words in ("Stop the training (asks first)", "where a step goes", "gradients are computed"):
            await shown(pilot, words)
        seen = ""
        for _ in range(8):
            seen += text(app)
            await pilot.press("pagedown")
            await pilot.pause()
        for words in ("ready without a core", "never measured", "a profiling window, another event"):
            assert words in seen
        assert "Follow the newest line of the output again" in seen

    with_app(scenes.starved(), LARGE, play)


@pytest.mark.parametrize("size", [(20, 5), (40, 12), (60, 16)])
def test_a_tiny_terminal_shows_what_fits(size: tuple[int, int]) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "training")
        await pilot.resize_terminal(*LARGE)
        await shown(pilot, "input.workers")

    with_app(scenes.starved(), size, play)
