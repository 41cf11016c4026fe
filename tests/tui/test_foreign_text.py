"""Names, output and findings are anybody's text: shown as text, in its columns, and never obeyed."""

import asyncio
import typing
from typing import TypeVar

import msgspec
import pytest
from rich.cells import cell_len

from perftui.ipc.dashboard_messages import Question, ToDashboard
from perftui.ipc.view import Mark
from perftui.tui.app import DashboardApp
from perftui.tui.format import clean, visible
from perftui.tui.glyphs import Glyphs
from tests.tui import page_scenes, scenes
from tests.tui.pty_terminal import Terminal
from tests.tui.screen_text import text, until
from tests.tui.scripted_hub import ScriptedHub

HOSTILE = (
    "\x1b[31m\x1b[2J\x1b]0;title\x07\x1bPq\x1b\\\x9b5m\x07\b[red]データ[/red]e\u0301\u202e"
    "\U0001f469\U0001f3fd\u200d\U0001f52c\u2764\ufe0f\U0001f1e9\U0001f1ea\u00ad"
)
SHOWN = "5m[red]データ[/red]é\U0001f469\U0001f52c\u2764DE"
_Value = TypeVar("_Value")


def hostile(value: _Value) -> _Value:
    """Return a message whose every free text begins with what no terminal should be sent."""
    return typing.cast(_Value, _hostile(value))


def _hostile(value: object) -> object:
    if isinstance(value, msgspec.Struct):
        hints = typing.get_type_hints(type(value))
        free = [name for name in value.__struct_fields__ if "Literal" not in str(hints[name])]
        return msgspec.structs.replace(value, **{name: _hostile(getattr(value, name)) for name in free})
    if isinstance(value, str):
        return HOSTILE + value
    if isinstance(value, list):
        return [_hostile(each) for each in typing.cast("list[object]", value)]
    if isinstance(value, dict):
        pairs = typing.cast("dict[object, object]", value).items()
        return {name: _hostile(each) for name, each in pairs}
    return value


def told(question: Question) -> list[ToDashboard]:
    answer, done = page_scenes.told(question)
    return [answer, msgspec.structs.replace(hostile(done), command_id=question.command_id)]


def test_what_commands_a_terminal_or_has_no_certain_width_is_taken_out() -> None:
    assert clean(HOSTILE) == SHOWN
    assert clean("\udce4x\ty") == "x   y"
    assert clean("10%\r 20%\r 30%\r") == " 30%"
    assert visible("a\x1b[2Jb\x9bc\u202ed") == "a\ufffd[2Jb\ufffdc\ufffdd"
    assert visible("schön 数 a\u00a0b") == "schön 数 a\u00a0b"
    assert visible("\U0001f1eb\U0001f1ee") == "FI"


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_on_no_screen_it_is_more_than_text(size: tuple[int, int]) -> None:
    async def scene() -> None:
        with ScriptedHub("demo-1", hostile(page_scenes.pages()), [scenes.history(0, 412)]) as hub:
            hub.unjudged, hub.tell = hostile(page_scenes.UNJUDGED), told
            hub.output = [HOSTILE, *hub.output]
            hub.marks = [Mark(unix=0.0, rank=None, event=HOSTILE, text=HOSTILE, step=200)]
            app = DashboardApp("demo-1", Glyphs())
            async with app.run_test(size=size) as pilot:
                await until(pilot, lambda: SHOWN in text(app), "the name as text")
                for keys in ((), ("f",), ("e", "enter"), ("i",), ("o",), ("enter",), ("w",), ("r",), ("s",)):
                    await pilot.press(*keys)
                    await pilot.pause(0.2)
                    check(app, size)
                    if keys:
                        await pilot.press("escape")

    asyncio.run(scene())


def check(app: DashboardApp, size: tuple[int, int]) -> None:
    strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    assert len(strips) == size[1]
    for strip in strips:
        assert sum(cell_len(segment.text) for segment in strip) == size[0], strip.text
        assert visible(strip.text) == strip.text, ascii(strip.text)


@pytest.mark.usefixtures("places")
def test_frames_are_straight_in_a_terminal_that_counts_cells_itself() -> None:
    with ScriptedHub("demo-1", hostile(page_scenes.pages()), [scenes.history(0, 412)]) as hub:
        hub.output = [HOSTILE, *hub.output]
        terminal = Terminal(80, 24, answers=True)
        try:
            terminal.wait_for("q detach")
            terminal.wait_for("[red]")
            framed = [y for y in range(24) if terminal.cell(0, y) == "│"]
            assert len(framed) >= 5
            assert [terminal.cell(79, y) for y in framed] == ["│"] * len(framed)
            assert b"title" not in terminal.raw
            assert b"\x1b[2J" not in terminal.raw
        finally:
            terminal.close()
