"""Sentences name the keys in force, not those that there would be without a configuration."""

import asyncio

import msgspec
import pytest
from textual.pilot import Pilot

from perftui.ipc.view import RunView
from perftui.tui.app import DashboardApp
from perftui.tui.config.settled import Config
from perftui.tui.glyphs import Glyphs
from perftui.tui.key_map import key_names
from perftui.tui.renderables.headline import verdict_lines
from perftui.tui.renderables.lines import plain
from perftui.tui.renderables.settings_blocks import settings_blocks
from perftui.tui.state import DashboardState
from tests.tui import page_scenes, scenes
from tests.tui.played import LARGE
from tests.tui.screen_text import shown
from tests.tui.scripted_hub import ScriptedHub

OWN = {
    "detach": ("f10",),
    "differing": ("D",),
    "rank": ("O",),
    "difference": ("U",),
    "profile-end": ("C",),
    "time-back": ("f2",),
    "time-on": ("f3",),
    "freeze": ("F",),
}
REPLAY = scenes.header(replay=True, replay_speed=1.0, replay_total_s=500.0)


def _said(**changes: object) -> str:
    state = DashboardState(run_id="r", keys=key_names(OWN), **changes)  # type: ignore[arg-type]
    return "\n".join(plain(line) for line in verdict_lines(state, 120))


def test_the_two_lines_of_verdict() -> None:
    ended = scenes.header(state="finished", exit_code=0)
    assert "this is its last picture; f10 leaves" in _said(header=ended, connected=True)
    assert "f2 and f3 go back or on, [] play slower or faster, F pauses" in _said(
        header=REPLAY, connected=True
    )
    assert "as it was: f10 leaves" in _said(header=REPLAY, connected=False)
    default = DashboardState(run_id="r", header=REPLAY, connected=True)
    assert "←→ go back or on, [] play slower or faster, space pauses" in plain(verdict_lines(default, 120)[1])


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (("i", "D"), "perftui has changed nothing; D shows all"),
        (("m",), "nobody to compare it with; O shows its own history"),
        (("w",), "C cancels it"),
    ],
)
def test_the_pages(keys: tuple[str, ...], words: str) -> None:
    armed = msgspec.structs.replace(scenes.PROFILE, state="armed", sentence=None)
    view: RunView = msgspec.structs.replace(scenes.starved(), profiles=[armed])

    async def play(pilot: Pilot[None]) -> None:
        await pilot.pause(0.5)
        await pilot.press(*keys)
        await shown(pilot, words)

    async def scene() -> None:
        with ScriptedHub("demo-1", view) as hub:
            hub.tell = page_scenes.told_of_one
            app = DashboardApp("demo-1", Glyphs(), config=Config(keys=OWN))
            async with app.run_test(size=LARGE) as pilot:
                await play(pilot)

    asyncio.run(scene())


def test_values_are_seen_on_a_narrow_screen() -> None:
    ranks = page_scenes.pages().ranks
    for width in (36, 40, 60):
        drawn = [
            plain(line)
            for block in settings_blocks(ranks, {}, width, telling=False, key="d")
            for line in block.lines
        ]
        (pinned,) = [each for each in drawn if "loader.pin" in each]
        assert pinned.rstrip().endswith("  true"), pinned
