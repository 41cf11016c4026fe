"""A person's configuration in the real app: keys, panels, colours, and what is told of mistakes."""

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from perftui.ipc.view import RunView
from perftui.tui.app import DashboardApp
from perftui.tui.clipboard import clipboard_sequences
from perftui.tui.config.reading import read_config
from perftui.tui.glyphs import Glyphs
from perftui.tui.layout import plan
from perftui.tui.new_file import write_new
from tests.tui import scenes
from tests.tui.played import LARGE, SMALL
from tests.tui.screen_text import text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")
Play = Callable[[DashboardApp, Pilot[None], ScriptedHub], Awaitable[None]]


def with_config(written: str, play: Play, size: tuple[int, int] = LARGE, view: RunView | None = None) -> None:
    """Play a scene with a configuration."""
    served = view or scenes.starved()

    async def scene() -> None:
        history = [scenes.history(each.rank, 200) for each in served.ranks]
        with ScriptedHub("demo-1", served, history) as hub:
            app = DashboardApp("demo-1", Glyphs(), config=read_config(written, "config.toml"))
            async with app.run_test(size=size, notifications=True) as pilot:
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await play(app, pilot, hub)

    asyncio.run(scene())


def _has(app: DashboardApp, words: str) -> bool:
    return words in text(app)


async def _shown(app: DashboardApp, pilot: Pilot[None], *words: str) -> None:
    for each in words:
        await until(pilot, partial(_has, app, each), each)


OWN_KEYS = """
[keys]
stop = "X"
relaunch = "f5"
findings = "F"
down = "J"
back = "b"
close = "f2"
profile = "O"
help = "f1"
"""


def test_own_keys_are_in_force_and_shown_everywhere() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await _shown(app, pilot, "X stop", "O profile", "f5 relaunch", "F findings", "f1 help")
        await _shown(
            app, pilot, "f5 relaunches with loader.num_workers", "f5 relaunch with loader.num_workers"
        )
        await pilot.press("s", "r", "p", "f")
        assert len(app.screen_stack) == 2
        await pilot.press("X")
        await _shown(app, pilot, "stop the training?")
        await pilot.press("escape")
        await pilot.press("F")
        await _shown(app, pilot, "b back")
        await pilot.press("escape")
        assert len(app.screen_stack) == 3, "escape was given up for b"
        await pilot.press("b")
        await pilot.press("f1")
        await _shown(app, pilot, "only f5, X, f2 and a finding's enter can change the training")
        told = re.findall(r"^\W*(\S+) +Stop the training", text(app), re.MULTILINE)
        assert told == ["X"]
        await pilot.press("b")
        await pilot.press("ctrl+p", *"stop")
        await _shown(app, pilot, "stop  X")
        await pilot.press("escape")
        assert hub.commands == []

    with_config(OWN_KEYS, play)


def test_a_key_of_ones_own_is_typed_into_a_filter_like_any_other() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("o", "slash", *"zstep")
        await _shown(app, pilot, "zstep")
        assert len(app.screen_stack) == 3
        assert hub.commands == []

    with_config('[keys]\nstop = "z"\nfindings = "t"\ntune = "f"', play)


def test_a_click_on_the_line_of_keys_does_what_ones_own_key_does() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await _shown(app, pilot, "X stop")
        await pilot.click("#keys", offset=(text(app).splitlines()[-1].index("X stop"), 0))
        await _shown(app, pilot, "stop the training?")

    with_config(OWN_KEYS, play)


def test_a_click_on_the_top_line_has_every_action_to_be_clicked() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await _shown(app, pilot, "q detach")
        assert "^p all" not in text(app)
        await pilot.click("#header", offset=(30, 0))
        await _shown(app, pilot, "Leave the dashboard; the training goes on", "freeze  space")

    with_config(OWN_KEYS, play, SMALL)


def test_mistakes_are_told_and_the_rest_holds() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await _shown(app, pilot, "not in force", "line 1: colour is not", "2 more: `perftui", "X stop")

    wrong = "colour = 1\nsound = 2\ntheme = 'drak'\n[keys]\nstopp = 's'\nstop = 'X'\nhelp = 'ctrl+i'"
    with_config(wrong, play)


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("panel", ["ranks", "steps", "findings", "output", "host"])
def test_a_panel_can_be_left_out_and_leaves_its_room(panel: str, size: tuple[int, int]) -> None:
    words = {
        "ranks": "rank 0 cpu",
        "steps": "step time of rank 0",
        "findings": "╭─ findings",
        "output": "╭─ output",
        "host": "perftui costs",
    }
    rest = [each for each in words if each != panel]

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        there = [words[each] for each in rest if size == LARGE or each not in ("steps",)]
        await _shown(app, pilot, "▲ CRITICAL", "? help q", *there)
        assert words[panel] not in text(app)
        lines = text(app).splitlines()
        assert len(lines) == size[1]
        assert "" not in lines[3:-1]

    with_config(f"[overview]\npanels = {rest}", play, size)


def test_no_panel_at_all_is_the_verdict_alone() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await _shown(app, pilot, "▲ CRITICAL", "q detach")
        assert "".join(text(app).splitlines()[3:-1]) == ""

    with_config("[overview]\npanels = []", play)


def test_the_room_is_shared_out_among_those_that_are_wanted() -> None:
    whole = plan(120, 40, 1)
    alone = plan(120, 40, 1, panels=["findings"])
    assert (alone.ranks, alone.middle, alone.status, alone.output) == (0, 0, 0, 0)
    assert alone.findings == alone.bottom == 36
    assert plan(120, 40, 1, panels=["steps"]).middle == 36
    assert plan(120, 40, 1, panels=["ranks", "output"]).bottom == 36 - whole.ranks
    assert plan(120, 40, 1, relaunch=9, panels=["findings"]).middle == 9


def test_colours_are_ones_own() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        assert app.theme in ("perftui-contrast-light", "perftui-ansi-contrast")

    with_config('theme = "contrast-light"', play)


def test_the_screen_is_painted_no_more_often_than_wanted() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        before = hub.pulls
        await pilot.pause(1.2)
        assert hub.pulls - before <= 1

    with_config("[rates]\nupdates_per_s = 0.5", play)


def test_a_screenshot_is_a_new_file_that_asks_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await _shown(app, pilot, "input.workers")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: bool(list(tmp_path.glob("*.svg"))), "the first file")
        await _shown(app, pilot, "this screen is in")
        await pilot.press("question_mark", "ctrl+s")
        await until(pilot, lambda: len(list(tmp_path.glob("*.svg"))) == 2, "a file of the help over it")
        svg = min(tmp_path.glob("*.svg"), key=lambda path: path.stat().st_mtime_ns).read_text()
        assert svg.startswith("<svg")
        assert "input.workers" in svg.replace("&#160;", " ")
        assert re.findall(r"url\((?!#)[^)]*\)", svg) == []

    with_config("", play)


def test_no_file_is_ever_replaced(tmp_path: Path) -> None:
    assert write_new(tmp_path, "a", "svg", "1").name == "a.svg"
    assert write_new(tmp_path, "a", "svg", "2").name == "a-2.svg"
    assert (tmp_path / "a.svg").read_text() == "1"


def test_a_text_is_copied_through_tmux_and_screen() -> None:
    words = "loader.num_workers=4 — " * 40
    encoded = base64.b64encode(words.encode()).decode()
    plain = f"\x1b]52;c;{encoded}\x07"
    assert list(clipboard_sequences(words, {})) == [plain]
    bare, wrapped = clipboard_sequences(words, {"TMUX": "/tmp/tmux-0/default,1,0"})
    assert bare == plain
    assert wrapped == f"\x1bPtmux;\x1b{plain}\x1b\\"
    parts = list(clipboard_sequences(words, {"STY": "1.pts"}))
    assert len(parts) == 3
    assert all(len(part) <= 600 and part.startswith("\x1bP") and part.endswith("\x1b\\") for part in parts)
    assert "".join(part[2:-2] for part in parts) == plain
