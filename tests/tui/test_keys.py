"""The table of keys, and the picker."""

import asyncio
from typing import cast

import pytest
from textual.binding import BindingType

from perftui.ipc.run_lines import RunLine
from perftui.tui import keys
from perftui.tui.glyphs import Glyphs
from perftui.tui.key_contexts import CONTEXTS, bindings_of, every_binding
from perftui.tui.picker import PickerApp, RunList, pick_run
from perftui.tui.renderables.lines import plain
from perftui.tui.screens.help import HelpScreen, Where
from tests.tui.screen_text import text, until


def test_every_key_has_an_id_a_word_and_a_sentence() -> None:
    for key in every_binding():
        assert all((key.id, key.description, key.tooltip, key.action)), key


def test_every_table_is_in_force_somewhere() -> None:
    public = [name for name in vars(keys) if name.isupper() and isinstance(getattr(keys, name), list)]
    tables = {name: cast("list[BindingType]", getattr(keys, name)) for name in public}
    there = {id(each) for each in every_binding()}
    for name, table in tables.items():
        assert {id(each) for each in table} <= there, name


@pytest.mark.usefixtures("places")
def test_the_picker_returns_the_run_under_the_cursor() -> None:
    runs = [
        RunLine(
            run_id=f"run-{n}", name=f"job {n}", pid=100 + n, state="running", started=0.0, command=["python"]
        )
        for n in range(3)
    ]

    async def scene(*pressed: str) -> str | None:
        app = PickerApp(runs, Glyphs())
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await pilot.press(*pressed)
        return app.return_value

    assert asyncio.run(scene("down", "down", "up", "enter")) == "run-1"
    assert asyncio.run(scene("end", "q")) is None
    assert pick_run([]) is None


@pytest.mark.usefixtures("places")
def test_the_picker_shows_programs_without_their_folders() -> None:
    run = RunLine(
        run_id="run-1", name="job", pid=7, state="running", started=0.0, command=["/opt/bin/python", "t.py"]
    )
    texts = [plain(row) for row in RunList(Glyphs(), [run]).lines(80, 6)]
    assert "  python t.py" in texts[2]


def _told(of: Where) -> str:
    return " ".join(" ".join(plain(part) for part in HelpScreen(Glyphs(), of=of).lines(90)).split())


_WITHOUT_RUN: dict[str, Where] = {
    "a trace": "trace",
    "a trace's timeline": "trace",
    "a search": "search",
    "the list of runs": "picker",
}


@pytest.mark.parametrize("where", CONTEXTS)
def test_every_key_of_every_screen_is_in_the_help_wherever_it_is_opened(where: str) -> None:
    bindings = bindings_of(CONTEXTS[where])
    assert bindings
    helps: tuple[Where, ...] = ("overview", "page", "profile")
    for of in (_WITHOUT_RUN[where],) if where in _WITHOUT_RUN else helps:
        told = _told(of)
        for binding in bindings:
            assert " ".join(binding.tooltip.split()) in told, (of, binding)


@pytest.mark.usefixtures("places")
def test_the_picker_has_its_help() -> None:
    async def scene() -> None:
        app = PickerApp([], Glyphs())
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("question_mark")
            await until(pilot, lambda: "Open the dashboard of this run" in text(app), "the help")
            await pilot.press("escape", "q")
        assert app.return_value is None

    asyncio.run(scene())
