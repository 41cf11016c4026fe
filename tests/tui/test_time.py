"""Time on the screen, in the real app on real sockets: freeze, go back and on, live again; replays."""

import re

import msgspec
import pytest
from textual.pilot import Pilot

from perftui.ipc.dashboard_messages import RanksQuery, SeekCommand, StepsQuery
from perftui.ipc.view import RunView
from perftui.tui.app import DashboardApp
from perftui.tui.renderables.headline import header_line
from perftui.tui.renderables.lines import plain
from perftui.tui.renderables.time_words import frozen_words, replay_words
from perftui.tui.state import DashboardState
from tests.tui import page_scenes, scenes
from tests.tui.played import LARGE, SMALL, with_app
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")


def at(second: int, base: RunView | None = None) -> RunView:
    """The run at a second of its life; host and cards tell which."""
    view = base or scenes.starved()
    return msgspec.structs.replace(
        view,
        header=msgspec.structs.replace(view.header, elapsed_s=200.0 + second, step=400 + second),
        ranks=[
            msgspec.structs.replace(each, now_ms=100.0 + second, steps=400 + second) for each in view.ranks
        ],
        hosts=[msgspec.structs.replace(scenes.HOST, run_busy=1.0 + second / 10)],
        findings=[] if second < 3 else list(view.findings),
    )


async def live_through(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub, last: int) -> None:
    """Let the hub tell of one second after the other."""
    for second in range(1, last + 1):
        hub.say(at(second))
        await until(pilot, lambda now=second: app.live.ranks[0].steps == 400 + now, f"second {second}")  # type: ignore[misc]


@pytest.mark.parametrize("size", [SMALL, pytest.param(LARGE, marks=pytest.mark.long)])
def test_one_goes_back_to_the_whole_screen_of_then_and_on_to_live(size: tuple[int, int]) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await live_through(app, pilot, hub, 5)
        assert "▲ CRITICAL" in await shown(pilot, "step 105 ms")
        await pilot.press("space")
        await shown(pilot, "⏸ 0 s ago, step 405")
        assert "←→ time" in text(app)
        await pilot.press("left", "left", "left")
        screen = await shown(pilot, "⏸ 3 s ago, step 402")
        assert "step 102 ms" in screen
        assert "run 1.2" in screen, "the host as it was"
        assert "CRITICAL" not in screen, "the findings as they were"
        hub.say(at(9))
        await shown(pilot, "⏸ 7 s ago, step 402")
        assert "step 102 ms" in text(app)
        await pilot.press("right")
        await shown(pilot, "⏸ 6 s ago, step 403")
        await pilot.press("shift+left")
        await shown(pilot, "⏸ 9 s ago, step 400, the earliest here")
        await pilot.press("end")
        screen = await shown(pilot, "step 109 ms")
        assert " ago" not in screen
        assert "←→ time" not in screen

    with_app(at(0), size, play)


def test_beyond_the_newest_moment_the_picture_is_live_again() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await live_through(app, pilot, hub, 3)
        await pilot.press("space", "left")
        await shown(pilot, "⏸ 1 s ago, step 402")
        await pilot.press("right", "right")
        await until(pilot, lambda: " ago" not in text(app), "live again")
        await pilot.press("space")
        await shown(pilot, "⏸ 0 s ago")
        await pilot.press("space")
        await until(pilot, lambda: " ago" not in text(app), "live again")

    with_app(at(0), LARGE, play)


def test_while_live_the_arrows_choose_ranks_and_steps() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "▶ rank 0")
        await pilot.press("right")
        await shown(pilot, "▶ rank 1")
        await pilot.press("space", "left")
        assert "▶ rank 1" in text(app), "frozen, they go through time"

    with_app(scenes.two_ranks(), LARGE, play)


def test_a_rank_is_shown_with_the_steps_it_had_then() -> None:
    def newest(hub: ScriptedHub) -> StepsQuery:
        question = hub.questions[-1]
        assert isinstance(question, StepsQuery)
        return question

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await live_through(app, pilot, hub, 4)
        await pilot.press("enter")
        await shown(pilot, "step time  0 to 411")
        await pilot.press("space", "left", "left")
        await until(pilot, lambda: newest(hub).last_step == 401, "the steps of then")
        await shown(pilot, "step time  0 to 401, 10 before the newest")
        await pilot.press("plus")
        await until(pilot, lambda: newest(hub).first_step == 201, "half of them")
        await pilot.press("comma")
        await until(pilot, lambda: newest(hub).last_step == 351, "an earlier stretch, still frozen")
        assert "⏸ 2 s ago, step 402" in text(app)
        await pilot.press("end")
        await until(pilot, lambda: " ago" not in text(app), "live again")

    with_app(at(0), LARGE, play)


@pytest.mark.long
def test_the_frozen_picture_says_what_has_become_of_the_run() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await live_through(app, pilot, hub, 2)
        await pilot.press("space", "left")
        failed = msgspec.structs.replace(at(4).header, state="failed", exit_code=1)
        hub.say(msgspec.structs.replace(at(4), header=failed))
        await shown(pilot, "step 401, now failed")

    with_app(at(0), LARGE, play)


def test_nothing_is_proposed_for_what_is_not_found_any_more() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await live_through(app, pilot, hub, 4)
        hub.say(msgspec.structs.replace(at(6), findings=[]))
        await shown(pilot, "no finding yet")
        await pilot.press("f", "space", "left")
        await shown(pilot, "⏸ 2 s ago, step 404")
        await pilot.press("enter")
        await shown(pilot, "that was found then, and is not any more")
        hub.say(at(7))
        await until(pilot, lambda: bool(app.live.findings), "found again")
        await pilot.press("enter")
        await shown(pilot, "relaunch with this change?")
        assert hub.commands == []

    with_app(at(0), LARGE, play)


def test_words_of_then_and_of_a_replay() -> None:
    then = DashboardState(run_id="r", header=scenes.header(elapsed_s=100.0, step=1340), connected=True)
    live = DashboardState(run_id="r", header=scenes.header(elapsed_s=700.0), silent_s=7.0)
    assert frozen_words(then, live) == "10 min ago, step 1,340, hub silent for 7 s"
    replay = scenes.header(replay=True, replay_speed=0.5, replay_total_s=190.0)
    assert replay_words(replay) == "REPLAY 0.5× of 3:10"
    assert replay_words(msgspec.structs.replace(replay, replay_paused=True)) == "REPLAY paused of 3:10"
    assert replay_words(scenes.header()) == ""


def test_a_long_name_gives_way_to_how_old_the_picture_is() -> None:
    then = DashboardState(run_id="r", header=scenes.header(name="a-training-with-a-very-long-name-indeed"))
    for width in (120, 80, 76):
        drawn = plain(header_line(then, width, "9 min ago, step 400, the earliest here"))
        assert "⏸ 9 min ago, step 400, the earliest here" in drawn
        assert drawn.startswith(" perftui a-")
    drawn = plain(header_line(then, 60, "9 min ago, step 400, the earliest here, now failed"))
    assert "⏸ 9 min ago, step 400" in drawn


def _replay(**changes: object) -> RunView:
    header = scenes.header(replay=True, replay_speed=1.0, replay_total_s=500.0, **changes)
    return msgspec.structs.replace(scenes.two_ranks(), header=header)


def _seeks(hub: ScriptedHub) -> list[tuple[float | None, float | None, bool | None]]:
    found = [each for each in hub.commands if isinstance(each, SeekCommand)]
    assert len(found) == len(hub.commands)
    return [(each.elapsed_s, each.speed, each.paused) for each in found]


def test_a_replay_is_played_faster_slower_and_sought_in() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "REPLAY 1× of 8:20")
        await pilot.press("right_square_bracket", "left_square_bracket", "right", "shift+left", "end")
        await until(pilot, lambda: len(hub.commands) == 5, "all commands")
        faster, slower, on, back, end = _seeks(hub)
        assert (faster[1], slower[1]) == (2.0, 0.5)
        assert (on[0], back[0]) == (262.4, 152.4)
        assert end[0] is not None
        assert end[0] > 1e6
        hub.say(_replay(replay_paused=True))
        await shown(pilot, "REPLAY paused of 8:20")
        await pilot.press("i")
        await shown(pilot, "settings in force")
        await pilot.press("left", "space")
        await until(pilot, lambda: len(hub.commands) == 7, "a second back, and on")
        assert _seeks(hub)[5:] == [(251.4, None, None), (None, None, False)]

    with_app(_replay(), LARGE, play)


def test_ranks_over_time_are_asked_for_chosen_and_opened() -> None:
    def newest(hub: ScriptedHub) -> RanksQuery:
        return next(each for each in reversed(hub.questions) if isinstance(each, RanksQuery))

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("m")
        screen = await shown(pilot, "ranks over time  4 ranks, steps 0 to 411")
        assert re.search(r"┃ 0 +⠂+ +0\.0 %", screen)
        assert re.search(r"  1 +⡷+ +\+15\.0 %", screen)
        assert "20 % and more" in screen
        await pilot.press("plus")
        await until(pilot, lambda: newest(hub).newest == 206, "half of the steps")
        await pilot.press("v")
        await until(pilot, lambda: newest(hub).measure == "step", "the next measure")
        await shown(pilot, "the whole step")
        await pilot.press("v")
        await shown(pilot, "waiting for the loader")
        await pilot.press("v", "j", "enter")
        await shown(pilot, "rank 1 cuda:1 on gpu07")

    with_app(page_scenes.pages(), LARGE, play)
