"""Every key of every screen, pressed in the real app: it does what the table says, and the palette has it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

import msgspec
import pytest
from textual.actions import ActionParseResult
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.pilot import Pilot
from textual.widgets import Input

from perftui.ipc.view import RunView
from perftui.tui.app import DashboardApp
from perftui.tui.glyphs import Glyphs
from perftui.tui.key_contexts import CONTEXTS, bindings_of
from perftui.tui.picker import PickerApp
from perftui.tui.search_app import SearchApp
from perftui.tui.trace_app import Shown, TraceApp
from tests.tui import page_scenes, scenes, search_scenes, trace_scenes
from tests.tui.screen_text import text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")
_ENDING = ("detach", "leave", "pick")
"""Ids of keys that end the app; each has a test of its own."""


class _Noting(App[None]):
    """Notes which actions it runs, and runs them."""

    @cached_property
    def noted(self) -> list[str]:
        """The actions."""
        return []

    async def run_action(
        self,
        action: "str | ActionParseResult",
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        self.noted.append(str(action))
        return await super().run_action(action, default_namespace, namespaces)


class _NotingDashboard(_Noting, DashboardApp):
    pass


class _NotingTrace(_Noting, TraceApp):
    pass


class _NotingSearch(_Noting, SearchApp):
    pass


WAYS: dict[str, tuple[Sequence[str], str]] = {
    "the overview": ((), "findings 3"),
    "the findings": (("f",), "findings 3  2 not judged"),
    "the ledger": (("e",), "98 % interval"),
    "the settings": (("i",), "settings in force"),
    "the tune page": (("t",), "MEASURING trial 3"),
    "a rank": (("enter",), "distribution of these"),
    "the output": (("o",), "output 26 lines"),
    "a profile": (("w",), "_SingleProcessDataLoaderIter"),
    "a filter": (("w", "slash"), "words that a row must have"),
    "an export": (("w", "e"), "export this table?"),
    "a proposal": (("r",), "relaunch with this change?"),
    "a question": (("s",), "stop the training?"),
    "a window's question": (("P",), "open a profiling window?"),
    "the help": (("question_mark",), "help: only"),
}
"""From the overview to a screen, and words that stand there."""
_QUICK = ("a question",)
"""These stand for the others, which take a minute, among the quick tests."""
TRACE_WAYS: dict[str, tuple[Sequence[str], str]] = {
    "a trace": ((), "aten::addmm"),
    "a trace's timeline": (("t",), "GPU 0 stream 7"),
    "a text": (("o",), "Perfetto"),
}


def _expected(where: str) -> dict[str, Binding]:
    """Return what each key of a screen is for: of two on one key, the first."""
    found: dict[str, Binding] = {}
    for binding in bindings_of(CONTEXTS[where]):
        for key in binding.key.split(","):
            if key not in found or (binding.priority and not found[key].priority):
                found[key] = binding
    return found


async def _press_all(
    app: _Noting, pilot: Pilot[None], where: str, come: Callable[[], Awaitable[None]]
) -> list[str]:
    """Press every key of a screen, and return those that did something else."""
    wrong: list[str] = []
    await come()
    there, focused = app.screen, app.focused
    offered = {binding.binding.id for binding in there.active_bindings.values() if binding.enabled}
    for key, binding in _expected(where).items():
        if binding.id in _ENDING or binding.id not in offered:
            continue
        if app.screen is not there or app.focused is not focused:
            await come()
            there, focused = app.screen, app.focused
        app.noted.clear()
        await pilot.press(key)
        await pilot.pause()
        if binding.action not in app.noted:
            wrong.append(f"{where}: {key} ran {app.noted}, expected {binding.action}")
        if binding.id == "freeze":
            await pilot.press(key)
    return wrong


def _in_palette(app: App[None], where: str) -> None:
    """Check that all that is in force on the screen in view is in its palette."""
    screen = app.screen
    told = {command.help for command in app.get_system_commands(screen)}
    active = [each.binding for each in screen.active_bindings.values() if each.enabled]
    in_force = {each.tooltip for each in active if each.id and each.id != "palette"}
    assert len(in_force) >= 2, where
    assert in_force <= told, where


def _view() -> RunView:
    return msgspec.structs.replace(page_scenes.pages(), profiles=[scenes.PROFILE])


async def _come(app: App[None], pilot: Pilot[None], way: Sequence[str], words: str) -> None:
    """Go from wherever it is to a screen of a dashboard."""
    while len(app.screen_stack) > 2:
        app.pop_screen()
        await pilot.pause()
    for key in way:
        await pilot.press(key)
        await pilot.pause()
    await until(pilot, lambda: words in text(app), words)


def _with_dashboard(play: Callable[[_NotingDashboard, Pilot[None]], Awaitable[None]]) -> None:
    async def scene() -> None:
        view = _view()
        with ScriptedHub("demo-1", view, [scenes.history(each.rank, 200) for each in view.ranks]) as hub:
            hub.unjudged = page_scenes.UNJUDGED
            app = _NotingDashboard("demo-1", Glyphs())
            async with app.run_test(size=(120, 40), notifications=True) as pilot:
                await until(pilot, lambda: "findings 3" in text(app), "the overview")
                await play(app, pilot)

    asyncio.run(scene())


def test_everything_in_force_on_a_screen_of_a_run_is_in_its_palette() -> None:
    async def play(app: _NotingDashboard, pilot: Pilot[None]) -> None:
        for where, (way, words) in WAYS.items():
            await _come(app, pilot, way, words)
            _in_palette(app, where)

    _with_dashboard(play)


@pytest.mark.parametrize(
    "where", [pytest.param(each, marks=() if each in _QUICK else pytest.mark.long) for each in WAYS]
)
def test_every_key_of_a_dashboard_does_what_its_table_says(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def play(app: _NotingDashboard, pilot: Pilot[None]) -> None:
        assert await _press_all(app, pilot, where, partial(_come, app, pilot, *WAYS[where])) == []

    _with_dashboard(play)


@pytest.mark.long
@pytest.mark.parametrize("where", TRACE_WAYS)
def test_every_key_of_a_trace_does_what_its_table_says(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = trace_scenes.written(tmp_path, trace_scenes.report())
    way, words = TRACE_WAYS[where]

    async def scene() -> None:
        app = _NotingTrace(Shown(path, "w1.json"), None, Glyphs())
        async with app.run_test(size=(120, 40), notifications=True) as pilot:

            async def come() -> None:
                if isinstance(app.focused, Input):
                    await pilot.press("escape")
                await _come(app, pilot, (), "perftui trace")
                while "[operators]" not in text(app):
                    await pilot.press("shift+tab")
                await _come(app, pilot, way, words)

            await until(pilot, lambda: "aten::addmm" in text(app), "the report")
            assert await _press_all(app, pilot, where, come) == []
            await come()
            _in_palette(app, where)

    asyncio.run(scene())


def test_every_key_of_a_search_does_what_its_table_says() -> None:
    async def scene() -> None:
        app = _NotingSearch(lambda: search_scenes.ENDED, Glyphs())
        words = "the result against the original"
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            come = partial(_come, app, pilot, (), words)
            assert await _press_all(app, pilot, "a search", come) == []
            await come()
            _in_palette(app, "a search")

    asyncio.run(scene())


def test_the_palette_of_the_picker_has_its_keys() -> None:
    async def scene() -> None:
        app = PickerApp([], Glyphs())
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            told = {command.help for command in app.get_system_commands(app.screen)}
            assert {binding.tooltip for binding in bindings_of(CONTEXTS["the list of runs"])} - told == {
                "All actions by name, to type or to click"
            }

    asyncio.run(scene())


def test_every_screen_is_visited() -> None:
    others = {"a timeline", "a search", "the list of runs"}  # the first has the keys of a trace's timeline
    assert set(WAYS) | set(TRACE_WAYS) | others == set(CONTEXTS)
