"""An answer to a question does what was asked, or nothing: the run may be another one by then."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from textual.message import Message
from textual.pilot import Pilot

from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.dashboard_messages import Command, ProfileCommand, SeekCommand, StopCommand
from perftui.ipc.view import ProfileView, RunView
from perftui.tui.app import DashboardApp
from perftui.tui.link import HubLink
from perftui.tui.messages import CommandAnswered
from perftui.tui.state import going_on, open_window
from tests.tui import scenes
from tests.tui.played import LARGE, UNICODE, with_app
from tests.tui.screen_text import shown, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")
ARMED: ProfileView = msgspec.structs.replace(scenes.PROFILE, window_id="w2", state="armed", sentence=None)


def _with_window(window_id: str) -> RunView:
    window = msgspec.structs.replace(ARMED, window_id=window_id)
    return msgspec.structs.replace(scenes.starved(), profiles=[window])


def _replaced() -> RunView:
    gone = scenes.header(state="stopped", successor="demo-2", exit_code=-15)
    return msgspec.structs.replace(scenes.decided(), header=gone)


@pytest.mark.parametrize(
    ("key", "question", "yes", "view"),
    [
        ("s", "stop the training?", "y", scenes.starved()),
        ("r", "relaunch with this change?", "y", scenes.starved()),
        ("r", "relaunch with this change?", "a", scenes.starved()),
        ("P", "open a profiling window?", "enter", scenes.starved()),
        ("p", "end this profiling window?", "y", _with_window("w2")),
        ("x", "give up the relaunch?", "y", scenes.relaunching()),
    ],
)
def test_an_answer_about_a_run_that_was_replaced_meanwhile_does_nothing_to_the_next(
    key: str, question: str, yes: str, view: RunView
) -> None:
    async def scene() -> None:
        app = DashboardApp("demo-1", UNICODE)
        next_run = msgspec.structs.replace(view, header=scenes.header(run_id="demo-2"), relaunch=None)
        async with app.run_test(size=LARGE, notifications=True) as pilot:
            with ScriptedHub("demo-1", view) as first, ScriptedHub("demo-2", next_run) as second:
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await pilot.press(key)
                await shown(pilot, question)
                first.say(_replaced())
                await until(pilot, lambda: app.live.run_id == "demo-2" and app.live.connected, "the next run")
                await pilot.press(yes)
                await shown(pilot, "demo-2 has replaced that run since the")
                await pilot.pause(0.2)
                assert first.commands == []
                assert second.commands == []
                await pilot.press("s", "y")
                await until(pilot, lambda: bool(second.commands), "a question about the run in view")

    asyncio.run(scene())


def test_an_answer_is_held_to_the_relaunch_that_went_on_or_did_not() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("s")
        await shown(pilot, "stop the training?")
        hub.say(scenes.relaunching())
        await until(pilot, lambda: going_on(app.live.relaunch), "a relaunch by somebody else")
        await pilot.press("y")
        await shown(pilot, "a relaunch has begun since the question")
        await pilot.press("x")
        await shown(pilot, "give up the relaunch?")
        hub.say(msgspec.structs.replace(scenes.decided(), header=scenes.header()))
        await until(pilot, lambda: not going_on(app.live.relaunch), "its end")
        await pilot.press("y")
        await shown(pilot, "the relaunch has ended since the question")
        await pilot.pause(0.2)
        assert hub.commands == []

    with_app(scenes.starved(), LARGE, play)


def test_another_window_than_the_one_that_was_asked_about_is_not_ended() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("p")
        await shown(pilot, "end this profiling window?")
        ended = msgspec.structs.replace(ARMED, state="done")
        later = msgspec.structs.replace(ARMED, window_id="w3", requested_unix=ARMED.requested_unix + 60)
        hub.say(msgspec.structs.replace(scenes.starved(), profiles=[ended, later]))

        def is_open() -> bool:
            window = open_window(app.live)
            return window is not None and window.window_id == "w3"

        await until(pilot, is_open, "the next window")
        await pilot.press("y")
        await shown(pilot, "that window has ended already")
        await pilot.pause(0.2)
        assert hub.commands == []

    with_app(_with_window("w2"), LARGE, play)


@pytest.mark.parametrize(
    ("run_id", "why"),
    [
        ("r-1", "the run's hub does not answer"),
        (None, "the run's hub does not answer"),
        ("r-0", "r-1 has replaced that run: nothing was done"),
    ],
)
def test_the_link_sends_nothing_that_was_meant_for_the_run_before(
    tmp_path: Path, run_id: str | None, why: str
) -> None:
    posted: list[Message] = []
    orders: list[Command] = [
        StopCommand(command_id="a"),
        ProfileCommand(command_id="b"),
        SeekCommand(command_id="c"),
    ]
    link, hub = HubLink("r-1", posted.append), DashboardLink(f"ipc://{tmp_path}/s")
    try:
        for order in orders:
            link.send(order, run_id)
        link._pass_commands(hub)  # pyright: ignore[reportPrivateUsage]
    finally:
        hub.close()
    told = [each.answer.reason for each in posted if isinstance(each, CommandAnswered)]
    assert told == [why] * len(orders)
