"""The pages in the real app on real sockets: keys in, text out, questions and commands at the hub's end."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest
from textual.binding import Binding
from textual.pilot import Pilot

from perftui.ipc.dashboard_messages import (
    Answer,
    LedgerQuery,
    Question,
    RelaunchCommand,
    StepsQuery,
    ToDashboard,
)
from perftui.ipc.view import RunView
from perftui.tui import keys
from perftui.tui.app import DashboardApp
from perftui.tui.glyphs import Glyphs
from tests.tui import page_scenes, scenes
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

SMALL, LARGE = (80, 24), (120, 40)
ASCII = Glyphs(ascii=True, chart="block", textured=True)
PAGES = {"findings": "f", "ledger": "e", "settings": "i", "output": "o", "rank": "enter"}
pytestmark = pytest.mark.usefixtures("places")
Play = Callable[[DashboardApp, Pilot[None], ScriptedHub], Awaitable[None]]


def with_app(
    play: Play,
    view: RunView | None = None,
    size: tuple[int, int] = LARGE,
    glyphs: Glyphs | None = None,
    *,
    read_only: bool = False,
) -> None:
    """Serve a view, show it, and play a scene with both ends."""
    served = page_scenes.pages() if view is None else view

    async def scene() -> None:
        history = [scenes.history(each.rank, 200) for each in served.ranks]
        with ScriptedHub("demo-1", served, history) as hub:
            hub.unjudged = page_scenes.UNJUDGED
            app = DashboardApp("demo-1", glyphs or Glyphs(), read_only=read_only)
            async with app.run_test(size=size, notifications=True) as pilot:
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await play(app, pilot, hub)

    asyncio.run(scene())


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_each_key_opens_its_page_and_closes_it(size: tuple[int, int]) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        for key, words in (
            ("f", "── findings 3  2 not judged"), ("e", "── ledger 2 of this run's command, 3 on this host"),
            ("i", "── settings in force"), ("o", "── output 26 lines"),
        ):  # fmt: skip
            await pilot.press(key)
            await shown(pilot, words)
            await pilot.press(key)
            await shown(pilot, "╭─ findings 3")
        await pilot.press("f", "e", "i", "o")
        await shown(pilot, "── output 26 lines")
        await pilot.press("q")
        await shown(pilot, "╭─ findings 3")

    view = msgspec.structs.replace(page_scenes.pages(), header=scenes.header())
    with_app(play, view, size)


def test_a_finding_is_chosen_and_its_remedy_proposed() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("f")
        await shown(pilot, "┃ ▲ CRITICAL input.too_many_workers")
        await pilot.press("j")
        await shown(pilot, "┃     └ ! WARNING input.epoch_start")
        await pilot.press("enter")
        await shown(pilot, "this proposes no change of settings")
        await pilot.press("up", "enter")
        await shown(pilot, "relaunch with this change?")
        await pilot.press("y")
        await until(pilot, lambda: bool(hub.commands), "the command at the hub")
        command = hub.commands[0]
        assert isinstance(command, RelaunchCommand)
        assert (command.set, command.finding) == ({"loader.num_workers": 7}, "input.too_many_workers")

    with_app(play)


def test_finding_and_command_are_copied() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("f", "c")
        await shown(pilot, "finding copied, if this terminal lets programs copy")
        assert app.clipboard.startswith("CRITICAL input.too_many_workers: 16 loader workers")
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard.startswith("perftui relaunch"), "the command copied")
        assert app.clipboard == "perftui relaunch demo-1 --set loader.num_workers=7"
        await pilot.press("end", "y")
        await shown(pilot, "there is no command here to copy")

    with_app(play)


def test_the_ledger_is_asked_for_opened_sorted_and_widened() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("e")
        screen = await shown(pilot, "loader.num_workers 0 → 2")
        assert "compile.mode off → max-autotune" in screen
        assert "other-model" not in screen
        assert isinstance(hub.questions[0], LedgerQuery)
        await pilot.press("j", "enter")
        screen = await shown(pilot, "✖ out of GPU memory")
        assert "CUDA out of memory" in screen
        await pilot.press("enter")
        await until(pilot, lambda: "CUDA out of memory" not in text(app), "folded up")
        await pilot.press("a")
        await shown(pilot, "other-model")
        await pilot.press("greater_than_sign")
        await shown(pilot, "verdict↓")
        await pilot.press("v")
        await shown(pilot, "verdict↑")
        await pilot.press("less_than_sign", "home", "c")
        await until(pilot, lambda: bool(app.clipboard), "the command copied")
        assert app.clipboard == "perftui run --set loader.num_workers=2 -- python train.py"

    with_app(play)


def test_a_ledger_that_cannot_be_read_says_why() -> None:
    def refuse(question: Question) -> list[ToDashboard]:
        return [Answer(command_id=question.command_id, accepted=False, reason="the ledger is [b]busy[/b]")]

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        hub.tell = refuse
        await pilot.press("e")
        await shown(pilot, "○ the ledger is [b]busy[/b]")

    with_app(play)


def test_the_history_of_a_rank_is_zoomed_and_gone_back_in() -> None:
    def newest(hub: ScriptedHub) -> StepsQuery:
        question = hub.questions[-1]
        assert isinstance(question, StepsQuery)
        return question

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("enter")
        screen = await shown(pilot, "step time  0 to 411")
        for words in ("rank 0 cuda:0 on gpu07", "distribution of these 412 steps", "forward", "SM active"):
            assert words in screen
        await pilot.press("plus")
        await shown(pilot, "step time  206 to 411")
        await pilot.press("left")
        await shown(
            pilot, "206 to 411" if newest(hub).last_step is None else "155 to 360, 51 before the newest"
        )
        await shown(pilot, "155 to 360, 51 before the newest")
        await pilot.press("right")
        await shown(pilot, "step time  206 to 411")
        await pilot.press("0")
        await shown(pilot, "step time  0 to 411")
        await pilot.press("end")
        screen = await shown(pilot, "0 steps dropped")
        assert "1     5001  D device" in screen
        assert "— throttled: no CPU quota is to be seen" in screen
        await pilot.press("l")
        await shown(pilot, "rank 1 cuda:1 on gpu07")
        await until(pilot, lambda: newest(hub).rank == 1, "the question about rank 1")

    with_app(play)


def test_a_rank_whose_history_cannot_be_had_shows_the_rest() -> None:
    def refuse(question: Question) -> list[ToDashboard]:
        return [Answer(command_id=question.command_id, accepted=False, reason="no such rank")]

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        hub.tell = refuse
        await pilot.press("enter")
        screen = await shown(pilot, "no such rank")
        assert "SM active" in screen

    with_app(play)


def test_settings_can_be_cut_down_to_what_tells() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("i")
        await shown(pilot, "≠ loader.num_workers")
        await shown(pilot, "4  on rank 1")
        await shown(pilot, "✖ optimizer.fused")
        await pilot.press("d")
        await until(pilot, lambda: "loader.pin_memory" not in text(app), "only what tells")
        await pilot.press("c")
        await until(pilot, lambda: app.clipboard == "loader.num_workers=2", "the line copied")

    with_app(play)


def test_output_is_searched_and_follows_again() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        lines = [
            f"line {number}" + (" [red]WARNING[/red]" if number % 50 == 0 else "") for number in range(200)
        ]
        hub.say(page_scenes.pages(), output=lines)
        await pilot.press("o")
        await shown(pilot, "line 199")
        await pilot.press("slash", *"warning")
        await shown(pilot, "4 of 4")
        await pilot.press("enter", "N")
        screen = await shown(pilot, "3 of 4")
        assert "line 100 [red]WARNING[/red]" in screen
        hub.say(page_scenes.pages(), output=["line 200"])
        await until(pilot, lambda: "line 200" in app.live.output, "the new line")
        assert "line 100 [red]WARNING[/red]" in text(app)
        await pilot.press("n", "n")
        await shown(pilot, "1 of 4")
        await pilot.press("end")
        await shown(pilot, "line 200")
        await pilot.press("home")
        await shown(pilot, "epoch 1 step  360")
        await pilot.press("slash", *["backspace"] * 10, *"nowhere", "enter")
        await shown(pilot, "nowhere  nowhere")

    with_app(play, size=SMALL)


def test_a_read_only_dashboard_offers_and_does_nothing_that_changes_the_run() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "f findings")
        assert "p profile" not in text(app).splitlines()[-1]
        offered = {command.title.rpartition("  ")[0] for command in app.get_system_commands(app.screen)}
        assert not offered & {"profile", "relaunch", "stop"}
        await pilot.press("p", "r", "s", "f")
        await shown(pilot, "c copy")
        assert "enter relaunch" not in text(app)
        await pilot.press("enter", "p")
        await pilot.pause(0.2)
        assert "relaunch with this change?" not in text(app)
        app.action_stop()
        await shown(pilot, "read-only: this dashboard changes nothing")
        assert hub.commands == []

    with_app(play, read_only=True)


def test_pages_work_on_a_recording_and_change_nothing_there() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("f", "enter")
        await shown(pilot, "this is a recording")
        await pilot.press("e")
        await shown(pilot, "loader.num_workers 0 → 2")
        await pilot.press("q", "enter")
        await shown(pilot, "step time  0 to 411")
        assert hub.commands == []

    view = msgspec.structs.replace(page_scenes.pages(), header=scenes.header(replay=True, world_size=2))
    with_app(play, view)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_ascii_where_nothing_else_can_be_shown(name: str) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press(PAGES[name])
        await shown(pilot, "esc back")
        await pilot.pause(0.3)
        assert text(app).isascii(), text(app)

    with_app(play, size=SMALL, glyphs=ASCII)


@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_colours_where_none_are_wanted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press(PAGES[name])
        await shown(pilot, "esc back")
        strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        styles = [segment.style for strip in strips for segment in strip if segment.style]
        colours = {str(colour.name) for style in styles for colour in (style.color, style.bgcolor) if colour}
        assert colours <= {"default"}

    with_app(play, glyphs=Glyphs(chart="block", textured=True))


@pytest.mark.parametrize("theme", ["perftui-light", "perftui-ansi"])
def test_every_page_can_be_drawn_in_every_theme(theme: str) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        app.theme = theme
        for key in PAGES.values():
            await pilot.press(key)
            await shown(pilot, "esc back")
            await pilot.press("q")
            await shown(pilot, "╭─ findings 3")

    with_app(play)


def test_a_click_on_a_key_presses_it() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "f findings")
        last = text(app).splitlines()[-1]
        await pilot.click("#keys", offset=(last.index("f findings"), 0))
        await shown(pilot, "── findings 3")

    with_app(play)


def test_every_key_of_every_page_is_in_the_palette_and_the_help() -> None:
    tables = {
        "f": (keys.FINDINGS, "the findings"),
        "e": (keys.LEDGER, "the ledger"),
        "i": (keys.SETTINGS, "the settings"),
        "o": (keys.OUTPUT, "the output"),
        "enter": (keys.RANK, "a rank"),
    }

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        for key, (table, page) in tables.items():
            await pilot.press(key)
            await shown(pilot, "esc back")
            offered = {command.help for command in app.get_system_commands(app.screen)}
            assert {each.tooltip for each in table if isinstance(each, Binding)} <= offered
            await pilot.press("question_mark")
            await shown(pilot, f"keys on {page}")
            await pilot.press("escape", "escape")
            await shown(pilot, "╭─ findings 3")

    with_app(play)


@pytest.mark.parametrize("size", [(20, 5), (40, 12), (60, 16)])
def test_pages_in_a_tiny_terminal_show_what_fits(size: tuple[int, int]) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        for key in PAGES.values():
            await pilot.press(key)
            await pilot.pause(0.2)
            await pilot.press("down", "pagedown", "end", "home", "escape")
        await pilot.resize_terminal(*LARGE)
        await shown(pilot, "input.too_many_workers")

    with_app(play, size=size)


def test_any_of_many_ranks_is_opened_by_key_and_by_mouse() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "▶      0")
        await pilot.press(*["down"] * 10, "enter")
        await shown(pilot, "── rank 11 cuda:11 on gpu07")
        await pilot.press("q")
        await shown(pilot, "▶     11")
        await pilot.press("home", "enter")
        await shown(pilot, "── rank 5 cuda:5 on gpu07")
        await pilot.press("q")
        await pilot.click("#table", offset=(5, 5), times=2)
        await shown(pilot, "── rank 3 cuda:3 on gpu07")

    with_app(play, scenes.gpus(64))


def test_a_card_opens_by_a_double_click() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "rank 1 cuda:1")
        await pilot.click("#rank-1", times=2)
        await shown(pilot, "── rank 1 cuda:1 on gpu07")

    with_app(play)
