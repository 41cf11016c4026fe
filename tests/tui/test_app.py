"""The real app on real sockets: keys in, text out, commands at the hub's end."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from perftui.ipc.dashboard_messages import (
    Answer,
    CancelCommand,
    Command,
    ProfileCommand,
    RelaunchCommand,
    SeekCommand,
    StopCommand,
    ToDashboard,
)
from perftui.tui.app import DashboardApp
from tests.tui import scenes
from tests.tui.played import LARGE, SMALL, UNICODE, with_app
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_overview_shows_what_matters(size: tuple[int, int]) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        for words in (
            "resnet18-jpeg", "● training", "step 412  epoch 1: 28/384", "▲ CRITICAL",
            "r relaunches with loader.num_workers 0 → 2", "step 142 ms  p50 140  p99 188", "■ wait 75 %",
            "225 samples/s", "run 1.8 others 0.1 of 2", "perftui costs 11.6 µs a step",
            "loader wait 75 % · workers 0", "epoch 1 step  410", "p profile",
            "q leave running" if size == LARGE else "q detach",
        ):  # fmt: skip
            await shown(pilot, words)

    with_app(scenes.starved(), size, play)


def test_two_ranks_mark_the_starved_one_and_can_be_chosen() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "▶ rank 0")
        await shown(pilot, "rank 1 cpu  ▲ rank.straggler_input")
        await pilot.press("l")
        await shown(pilot, "step time of rank 1")
        await pilot.press("left")
        await shown(pilot, "step time of rank 0")
        await pilot.click("#rank-1")
        await shown(pilot, "▶ rank 1")

    with_app(scenes.two_ranks(), LARGE, play)


def test_a_rank_that_is_heard_of_later_stands_in_its_place() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "rank 2")
        hub.say(msgspec.structs.replace(scenes.starved(), ranks=[scenes.rank(each) for each in (0, 1, 2)]))
        screen = await shown(pilot, "rank 0 ")
        assert screen.index("rank 0 ") < screen.index("rank 1 ") < screen.index("rank 2 ")

    with_app(msgspec.structs.replace(scenes.starved(), ranks=[scenes.rank(2)]), LARGE, play)


def test_many_ranks_become_a_table_that_scrolls() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "▶      0")
        await shown(pilot, " ▲     5  ● training")
        for _ in range(4):
            await pilot.press("pagedown")
        await shown(pilot, "▶     63")

    with_app(scenes.gpus(64), LARGE, play)


def test_gpu_figures_stand_in_the_card() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "rank 0 cuda:0")
        await shown(pilot, "71 %  tensor 58 %")
        await shown(pilot, "132/700 W  power-capped 31 %  1755/1980 MHz  41 °C")

    with_app(scenes.gpus(1), LARGE, play)


def test_p_opens_a_window_and_shows_its_rows() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("p")
        await shown(pilot, "no profiling window yet")
        await until(pilot, lambda: bool(hub.commands), "the command at the hub")
        command = hub.commands[0]
        assert isinstance(command, ProfileCommand)
        assert (command.steps, command.ranks, command.preset) == (3, None, "light")
        hub.say(msgspec.structs.replace(scenes.starved(), profiles=[scenes.PROFILE]))
        screen = await shown(pilot, "_SingleProcessDataLoaderIter.__next__")
        assert "Loading takes 74 % of the window" in screen
        rows = [row for row in screen.splitlines() if "aten::" in row]
        assert ["convolution_backward" in rows[0], "native_batch_norm" in rows[-1]] == [True, True]
        await pilot.press("1")
        screen = await shown(pilot, "operator↑")
        names = [row.split()[1] for row in screen.splitlines() if "aten::" in row]
        assert names == sorted(names)
        await pilot.press("tab")
        await shown(pilot, "sm90_xmma_fprop_implicit_gemm")
        await pilot.press(*["tab"] * 10)
        await shown(pilot, "88.0 ms")
        await pilot.press("escape")
        await shown(pilot, "findings 1")

    with_app(scenes.starved(), LARGE, play)


def test_r_proposes_and_y_relaunches() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("r")
        for words in ("relaunch with this change?",
            "loader.num_workers  0  →  2", "expected 2.1×, at most 4.0×", "neutral", "stopped at step 412",
            "about 1.5 min, at most 4.0 min", "scratch folder", "keep this run",
        ):  # fmt: skip
            await shown(pilot, words)
        await pilot.press("escape")
        await shown(pilot, "findings 1")
        assert hub.commands == []
        await pilot.press("r", "y")
        await until(pilot, lambda: bool(hub.commands), "the command at the hub")
        command = hub.commands[0]
        assert isinstance(command, RelaunchCommand)
        assert command.set == {"loader.num_workers": 2}
        assert (command.trial, command.finding) == (True, "input.workers")
        assert (command.bound, command.expected) == (4.03, 2.1)
        hub.say(scenes.relaunching())
        await shown(pilot, "● MEASURING loader.num_workers 0 → 2: launch 2 of up to 4")
        await pilot.press("r")
        await shown(pilot, "a relaunch is being measured")
        await pilot.press("x", "y")
        await until(pilot, lambda: len(hub.commands) == 2, "the cancellation")
        assert isinstance(hub.commands[1], CancelCommand)

    with_app(scenes.starved(), SMALL, play)


def test_a_verdict_is_shown_and_can_be_closed() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "▲ FASTER")
        sentence = "2.10 times as fast (+110 %, 98 % interval +103 to +117 %)"
        await until(pilot, lambda: text(app).count(sentence) == 2, "the panel and the news below it")
        await pilot.press("x")
        await until(pilot, lambda: "FASTER" not in text(app), "the panel closed")
        assert "● FINE" in text(app)
        hub.say(scenes.decided())
        await until(pilot, lambda: app.live.updates > 2, "another update")
        assert "FASTER" not in text(app)

    with_app(scenes.decided(), LARGE, play)


def test_stop_asks_first() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("s", "enter")
        await until(pilot, lambda: "stop the training?" not in text(app), "the question closed")
        await pilot.press("s")
        await shown(pilot, "stop the training?")
        assert hub.commands == []
        await pilot.press("y")
        await until(pilot, lambda: bool(hub.commands), "the command at the hub")
        assert isinstance(hub.commands[0], StopCommand)

    with_app(scenes.starved(), SMALL, play)


def test_a_refusal_is_shown_with_its_reason_as_text() -> None:
    def refuse(command: Command) -> list[ToDashboard]:
        reason = "this run was not started by perftui [bold]run[/bold]"
        return [Answer(command_id=command.command_id, accepted=False, reason=reason)]

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        hub.answer = refuse
        await pilot.press("r", "y")
        await shown(pilot, "[bold]run[/bold]")

    with_app(scenes.starved(), LARGE, play)


def test_hold_freezes_the_picture() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "step 142 ms")
        await pilot.press("space")
        await shown(pilot, "⏸ 0 s ago, step 412")
        hub.say(msgspec.structs.replace(scenes.starved(), ranks=[scenes.rank(0, now_ms=77.0)]))
        await until(pilot, lambda: app.live.ranks[0].now_ms == 77.0, "the new value")
        assert "step 142 ms" in text(app)
        await pilot.press("space")
        await shown(pilot, "step 77.0 ms")

    with_app(scenes.starved(), LARGE, play)


def test_a_replay_seeks_and_pauses_and_changes_nothing() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "REPLAY")
        await pilot.press("r", "s", "p")
        await shown(pilot, "this is a recording")
        assert hub.commands == []
        await pilot.press("right", "space")
        await until(pilot, lambda: len(hub.commands) == 2, "both commands")
        seek, pause = hub.commands
        assert isinstance(seek, SeekCommand)
        assert isinstance(pause, SeekCommand)
        assert (seek.elapsed_s, pause.paused) == (262.4, True)

    view = msgspec.structs.replace(scenes.starved(), header=scenes.header(replay=True))
    with_app(view, LARGE, play)


def test_a_lost_hub_is_shown_with_its_age_and_comes_back() -> None:
    async def scene() -> None:
        app = DashboardApp("demo-1", UNICODE)
        async with app.run_test(size=LARGE, notifications=True) as pilot:
            with ScriptedHub("demo-1", scenes.starved()):
                await shown(pilot, "▲ CRITICAL")
            screen = await shown(pilot, "NO ANSWER from the run's hub for")
            assert "step 142 ms" in screen
            await pilot.press("p")
            await shown(pilot, "the run's hub does not answer")
            await pilot.press("escape")
            again = msgspec.structs.replace(scenes.fine(), header=scenes.header(hub_restarts=1))
            with ScriptedHub("demo-1", again):
                await shown(pilot, "● FINE")
                await shown(pilot, "reconnected: the run's hub was")

    asyncio.run(scene())


def test_a_run_that_ended_stays_on_screen_without_its_hub() -> None:
    async def scene() -> None:
        app = DashboardApp("demo-1", UNICODE)
        async with app.run_test(size=LARGE, notifications=True) as pilot:
            with ScriptedHub("demo-1", scenes.ended()):
                await shown(pilot, "RUN ENDED")
            await until(pilot, lambda: not app.live.connected, "the hub's silence")
            await pilot.pause(0.1)
            screen = text(app)
            assert "✖ RUN ENDED failed, exit code 1 after 4:12" in screen
            assert "mat1 and mat2 cannot be multiplied" in screen
            assert "NO ANSWER" not in screen

    asyncio.run(scene())


def test_the_next_run_is_followed_with_the_verdict() -> None:
    async def scene() -> None:
        app = DashboardApp("demo-1", UNICODE)
        async with app.run_test(size=LARGE, notifications=True) as pilot:
            next_run = msgspec.structs.replace(
                scenes.fine(), header=scenes.header(run_id="demo-2", name="second")
            )
            done = msgspec.structs.replace(
                scenes.decided(), header=scenes.header(state="stopped", successor="demo-2", exit_code=-15)
            )
            with ScriptedHub("demo-1", scenes.starved()) as first, ScriptedHub("demo-2", next_run):
                await shown(pilot, "resnet18-jpeg")
                first.say(done)
                screen = await shown(pilot, "perftui second")
                assert "▲ FASTER" in screen
                await pilot.press("x")
                await shown(pilot, "● FINE")
                assert app.live.run_id == "demo-2"

    asyncio.run(scene())


def test_q_detaches_with_code_0(places: Path) -> None:
    async def scene() -> None:
        with ScriptedHub("demo-1", scenes.starved()):
            app = DashboardApp("demo-1", UNICODE)
            async with app.run_test(size=SMALL) as pilot:
                await shown(pilot, "▲ CRITICAL")
                await pilot.press("q")
            assert app.return_code == 0

    asyncio.run(scene())
