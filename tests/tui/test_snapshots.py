"""Every screen as text and in colour, whole, against what was looked at and found good.

`PERFTUI_SNAPSHOTS=write pytest -m 'long or not long' tests/tui/test_snapshots.py` writes them anew: look at
the difference then.
Words are compared in Unicode and in ASCII, colours in three themes at once (`screen_styles`).
"""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest
from textual.app import App
from textual.pilot import Pilot

from perftui.ipc.view import Mark
from perftui.tui.app import DashboardApp
from perftui.tui.glyphs import Glyphs
from perftui.tui.search_app import SearchApp
from perftui.tui.trace_app import Shown, TraceApp
from tests.tui import page_scenes, scenes, search_scenes, trace_scenes
from tests.tui.screen_styles import Cells, cells, styles_text
from tests.tui.screen_text import text, until
from tests.tui.scripted_hub import ScriptedHub

FOLDER = Path(__file__).parent / "snapshots"
THEMES = ("perftui-dark", "perftui-light", "perftui-ansi")
UNICODE, ASCII = Glyphs(), Glyphs(ascii=True, chart="block", textured=True)
SCREENS = (
    ("overview", (), "findings 3"),
    ("findings", ("f",), "findings 3  2 not judged"),
    ("ledger", ("e", "enter"), "1 A"),
    ("settings", ("i",), "settings in force"),
    ("tune", ("t",), "MEASURING trial 3"),
    ("output", ("o",), "output 26 lines"),
    ("rank", ("enter",), "phases over these steps"),
    ("ranks", ("m",), "20 % and more"),
    ("profile", ("w",), "[operators]"),
    ("proposal", ("r",), "relaunch with this change?"),
    ("question", ("s",), "stop the training?"),
    ("window", ("P",), "open a profiling window?"),
    ("help", ("question_mark",), "help: only"),
)
MARKS = [
    Mark(unix=0.0, rank=None, event="epoch", text="epoch 1", step=100),
    Mark(unix=0.0, rank=0, event="checkpoint", text="saved", step=300),
]
sizes = pytest.mark.parametrize(
    "size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.long)], ids=["80x24", "120x40"]
)
looks = pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
pytestmark = pytest.mark.usefixtures("places", "utc")


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("COLORTERM", "truecolor")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def _has(app: App[None], words: str) -> bool:
    return words in text(app)


async def _looks_as_it_did(app: App[None], pilot: Pilot[None], name: str, glyphs: Glyphs) -> None:
    """Compare the screen with its files, or write these."""
    width, height = app.size
    stem, writing = f"{name}-{width}x{height}", os.environ.get("PERFTUI_SNAPSHOTS") == "write"
    words = FOLDER / f"{stem}{'-ascii' if glyphs.ascii else ''}.txt"
    if writing:
        await pilot.pause(0.5)
        words.write_text(text(app) + "\n")
    wanted = words.read_text()
    await until(pilot, lambda: text(app) + "\n" == wanted, f"like {words}")
    if glyphs.ascii:
        return
    drawn: list[Cells] = []
    for theme in THEMES:
        app.theme = theme
        await until(pilot, lambda: text(app) + "\n" == wanted, f"like {words} in {theme}")
        await pilot.pause()
        drawn.append(cells(app))
    app.theme = THEMES[0]
    found, colours = styles_text(THEMES, drawn), FOLDER / f"{stem}.styles"
    if writing:
        colours.write_text(found)
    assert found == colours.read_text(), colours


@sizes
@looks
def test_every_screen_of_a_run_looks_as_it_did(size: tuple[int, int], glyphs: Glyphs) -> None:
    async def scene() -> None:
        view = msgspec.structs.replace(page_scenes.pages(), profiles=[scenes.PROFILE])
        history = [scenes.history(each.rank, 412) for each in view.ranks]
        with ScriptedHub("demo-1", view, history) as hub:
            hub.unjudged = page_scenes.UNJUDGED
            hub.marks = MARKS
            app = DashboardApp("demo-1", glyphs)
            async with app.run_test(size=size) as pilot:
                for name, pressed, words in SCREENS:
                    await pilot.press(*pressed)
                    await until(pilot, partial(_has, app, words), words)
                    await _looks_as_it_did(app, pilot, name, glyphs)
                    if pressed:
                        await pilot.press("q")

    asyncio.run(scene())


@sizes
@looks
def test_every_screen_without_a_run_looks_as_it_did(
    size: tuple[int, int], glyphs: Glyphs, tmp_path: Path
) -> None:
    path = trace_scenes.written(tmp_path, trace_scenes.report())

    async def play(app: App[None], steps: Sequence[tuple[str, Sequence[str], str]]) -> None:
        async with app.run_test(size=size) as pilot:
            for name, pressed, words in steps:
                await pilot.press(*pressed)
                await until(pilot, partial(_has, app, words), words)
                await _looks_as_it_did(app, pilot, name, glyphs)

    asyncio.run(play(SearchApp(lambda: search_scenes.ENDED, glyphs), [("search", (), "FASTER")]))
    trace = TraceApp(Shown(path, "w1.json"), None, glyphs)
    asyncio.run(play(trace, [("trace", (), "aten::addmm"), ("timeline", ("t",), "GPU 0 stream 7")]))
