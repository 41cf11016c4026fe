"""The keys of profiling windows: what to record is chosen, and an open window can be ended."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest
from textual.pilot import Pilot

from perftui.ipc.dashboard_messages import CancelProfileCommand, ProfileCommand
from perftui.ipc.view import ProfileView, RunView
from perftui.tui.app import DashboardApp
from perftui.tui.glyphs import Glyphs
from perftui.tui.renderables.lines import clip, plain, width_of
from perftui.tui.renderables.window_choice_lines import window_choice_lines
from perftui.tui.screens.choose_window import ChooseWindowScreen
from perftui.tui.state import DashboardState, open_window
from perftui.tui.window_choice import PRESETS, STEPS, WindowChoice, at_row, changed, first_choice
from tests.tui import scenes
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")
ARMED: ProfileView = msgspec.structs.replace(
    scenes.PROFILE, window_id="w2", state="armed", start_step=900, sentence=None
)


def played(
    view: RunView,
    play: Callable[[DashboardApp, Pilot[None], ScriptedHub], Awaitable[None]],
    size: tuple[int, int] = (120, 40),
) -> None:
    async def scene() -> None:
        with ScriptedHub("demo-1", view) as hub:
            app = DashboardApp("demo-1", Glyphs())
            async with app.run_test(size=size, notifications=True) as pilot:
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await play(app, pilot, hub)

    asyncio.run(scene())


def with_windows(*windows: ProfileView) -> RunView:
    return msgspec.structs.replace(scenes.starved(), profiles=list(windows))


def test_what_is_chosen_is_what_the_hub_is_asked() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("right", "P")
        screen = await shown(pilot, "open a profiling window?")
        assert "the traces of all ranks" in screen
        await pilot.press("right", "right", "down", "right", "down", "right")
        screen = await shown(pilot, "the trace of rank 1 only")
        assert "the allocator's history" in screen
        await pilot.press("enter")
        await until(pilot, lambda: bool(hub.commands), "the command at the hub")
        command = hub.commands[0]
        assert isinstance(command, ProfileCommand)
        assert (command.preset, command.steps, command.ranks) == ("memory", 5, [1])
        await shown(pilot, "no profiling window yet")

    played(scenes.two_ranks(), play)


def test_choosing_nothing_asks_nothing() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("P")
        await shown(pilot, "open a profiling window?")
        await pilot.press("right", "escape")
        await until(pilot, lambda: not isinstance(app.screen, ChooseWindowScreen), "the sheet is gone")
        await pilot.press("w")
        await shown(pilot, "P asks what to record")
        assert hub.commands == []

    played(scenes.starved(), play)


def test_a_rank_alone_has_no_choice_of_traces() -> None:
    choice = first_choice([0], None)
    assert changed(at_row(choice, 2), 1).kept_ranks is None
    assert "all ranks" not in "\n".join(map(plain, window_choice_lines(choice, 60)))


@pytest.mark.parametrize("key", ["p", "P", "c"])
def test_an_open_window_can_be_ended_from_the_overview(key: str) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await until(pilot, lambda: bool(app.live.profiles), "the window")
        await pilot.press(key)
        await shown(pilot, "end this profiling window?")
        await pilot.press("escape")
        await until(pilot, lambda: "end this profiling" not in text(app), "the question is gone")
        assert hub.commands == []
        await pilot.press(key)
        await shown(pilot, "end this profiling window?")
        await pilot.press("y")
        await until(pilot, lambda: bool(hub.commands), "the command at the hub")
        assert isinstance(hub.commands[0], CancelProfileCommand)

    played(with_windows(scenes.PROFILE, ARMED), play)


def test_the_profile_screen_offers_to_cancel_while_a_window_is_open() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("w")
        screen = await shown(pilot, "waiting for step 900")
        assert "c cancels it" in screen
        await shown(pilot, "c cancel ")
        await pilot.press("c")
        await shown(pilot, "end this profiling window?")
        await pilot.press("y")
        await until(pilot, lambda: bool(hub.commands), "the command at the hub")
        gone = msgspec.structs.replace(ARMED, state="failed", sentence="The window was cancelled.")
        hub.say(with_windows(gone))
        await shown(pilot, "The window was cancelled.")
        await until(pilot, lambda: "c cancel " not in text(app), "the key is gone")
        await pilot.press("c")
        await pilot.pause()
        assert len(hub.commands) == 1

    played(with_windows(ARMED), play)


def test_p_opens_one_when_the_last_has_ended_and_nothing_in_a_recording() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("p")
        await until(pilot, lambda: bool(hub.commands), "the command at the hub")
        assert isinstance(hub.commands[0], ProfileCommand)

    played(with_windows(scenes.PROFILE), play)

    async def recording(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        for key in ("p", "P"):
            await pilot.press(key)
            await shown(pilot, "this is a recording")
        assert hub.commands == []

    header = msgspec.structs.replace(scenes.starved().header, replay=True)
    played(msgspec.structs.replace(scenes.starved(), header=header), recording)


@pytest.mark.parametrize("keys", [("p",), ("P", "enter"), ("w", "p"), ("w", "P", "enter")])
def test_a_window_that_is_opened_while_the_picture_is_frozen_is_shown_as_it_goes(
    keys: tuple[str, ...],
) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("space")
        await shown(pilot, "⏸ 0 s ago")
        await pilot.press(*keys)
        await until(pilot, lambda: bool(hub.commands), "the command at the hub")
        hub.say(with_windows(ARMED))
        screen = await shown(pilot, "waiting for step 900")
        assert "⏸" not in screen
        await pilot.press("q")
        await shown(pilot, "⏸ 0 s ago")

    played(scenes.starved(), play)


def test_the_choice_is_whole_in_a_small_terminal() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("P")
        screen = await shown(pilot, "open a profiling window?")
        assert "the traces of all ranks" in screen
        assert all(word in screen for word in ("light", "shapes", "memory", "stacks", "enter record"))

    played(scenes.two_ranks(), play, (80, 24))
    assert all(width_of(row) <= 76 for row in window_choice_lines(first_choice([0, 1], 0), 76))


def test_the_chosen_value_is_in_view_at_any_width() -> None:
    for width in range(16, 77):
        for steps in STEPS:
            for preset in PRESETS:
                choice = WindowChoice(preset=preset, steps=steps)
                record, counts, _, *_rest = window_choice_lines(choice, width)
                assert f" {preset} "[: width - 12] in plain(clip(record, width)), (width, preset)
                assert f" {steps} " in plain(clip(counts, width)), (width, steps)
    assert plain(window_choice_lines(WindowChoice(), 76)[1]).endswith(" 1  2  3  5  10  20  50 ")


def test_rows_and_values_stop_at_their_ends() -> None:
    choice = first_choice([0, 1, 2], 1)
    assert choice == WindowChoice(ranks=(1, 0, 2))
    assert at_row(choice, -1).row == 0
    assert at_row(choice, 9).row == 2
    assert changed(choice, -1).preset == "light"
    assert changed(choice, 9).preset == "stacks"
    assert [changed(at_row(choice, 1), by).steps for by in (-9, -1, 1, 9)] == [1, 2, 5, 50]
    assert [changed(at_row(choice, 2), by).kept_ranks for by in (0, 1, 2, 9)] == [None, [1], [0], [2]]


def test_only_a_window_that_goes_on_can_be_ended() -> None:
    def state(name: str, *states: str) -> DashboardState:
        views = [msgspec.structs.replace(ARMED, state=one) for one in states]
        return DashboardState(run_id=name, profiles=tuple(views))

    assert open_window(state("none")) is None
    assert open_window(state("done", "done", "failed", "analysing")) is None
    found = open_window(state("open", "done", "recording"))
    assert found is not None
    assert found.state == "recording"
