"""Every screen of a run as text, whole, against what was looked at and found good.

`PERFTUI_SNAPSHOTS=write pytest tests/tui/test_snapshots.py` writes them anew: look at the difference then.
"""

import asyncio
import os
import time
from functools import partial
from pathlib import Path

import pytest

from perftui.ipc.view import Mark
from perftui.tui.app import DashboardApp
from perftui.tui.glyphs import Glyphs
from tests.tui import page_scenes, scenes
from tests.tui.screen_text import text, until
from tests.tui.scripted_hub import ScriptedHub

FOLDER = Path(__file__).parent / "snapshots"
LOOKS = {
    "unicode": (Glyphs(), "perftui-dark"),
    "light": (Glyphs(), "perftui-light"),
    "ascii": (Glyphs(ascii=True, chart="block", textured=True), "perftui-ansi"),
}
SCREENS = (
    ("overview", (), "findings 3"),
    ("findings", ("f",), "findings 3  2 not judged"),
    ("ledger", ("e", "enter"), "1 A"),
    ("settings", ("i",), "settings in force"),
    ("output", ("o",), "output 26 lines"),
    ("rank", ("enter",), "distribution of these"),
    ("ranks", ("m",), "20 % and more"),
)
MARKS = [
    Mark(unix=0.0, rank=None, event="epoch", text="epoch 1", step=100),
    Mark(unix=0.0, rank=0, event="checkpoint", text="saved", step=300),
]


def _has(app: DashboardApp, words: str) -> bool:
    return words in text(app)


def _is(app: DashboardApp, wanted: str) -> bool:
    return text(app) + "\n" == wanted


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
@pytest.mark.parametrize("look", LOOKS)
def test_every_screen_looks_as_it_did(
    size: tuple[int, int], look: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    glyphs, theme = LOOKS[look]

    async def scene() -> None:
        view = page_scenes.pages()
        history = [scenes.history(each.rank, 412) for each in view.ranks]
        with ScriptedHub("demo-1", view, history) as hub:
            hub.unjudged = page_scenes.UNJUDGED
            hub.marks = MARKS
            app = DashboardApp("demo-1", glyphs)
            async with app.run_test(size=size) as pilot:
                app.theme = theme
                for name, pressed, words in SCREENS:
                    await pilot.press(*pressed)
                    await until(pilot, partial(_has, app, words), words)
                    name_of = f"{name}-{size[0]}x{size[1]}{'-ascii' if look == 'ascii' else ''}.txt"
                    path = FOLDER / name_of
                    if os.environ.get("PERFTUI_SNAPSHOTS") == "write" and look != "light":
                        await pilot.pause(0.5)
                        path.write_text(text(app) + "\n")
                    wanted = path.read_text()
                    await until(pilot, partial(_is, app, wanted), f"like {path}")
                    if pressed:
                        await pilot.press("q")

    asyncio.run(scene())
    monkeypatch.undo()
    time.tzset()
