"""The table of keys, and the picker."""

import asyncio

import pytest
from textual.binding import Binding

from perftui.ipc.run_lines import RunLine
from perftui.tui import keys
from perftui.tui.glyphs import Glyphs
from perftui.tui.picker import PickerApp, RunList, pick_run
from perftui.tui.renderables.lines import plain
from perftui.tui.screens.help import HelpScreen, Where


def test_every_key_has_an_id_a_word_and_a_sentence() -> None:
    tables = (
        keys.EVERYWHERE,
        keys.OVERVIEW,
        keys.PROFILE,
        keys.PROPOSAL,
        keys.CONFIRMATION,
        keys.SHEET,
        keys.HELP,
        keys.PAGE,
        keys.FINDINGS,
        keys.LEDGER,
        keys.RANK,
        keys.RANKS,
        keys.SETTINGS,
        keys.OUTPUT,
    )
    bindings = [binding for table in tables for binding in table]
    for key in bindings:
        assert isinstance(key, Binding)
        assert all((key.id, key.description, key.tooltip, key.action)), key


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


@pytest.mark.parametrize("of", ["overview", "page", "profile"])
def test_the_help_has_every_key_wherever_it_is_opened(of: Where) -> None:
    told = " ".join(" ".join(plain(part) for part in HelpScreen(Glyphs(), of=of).lines(90)).split())
    tables = (keys.OVERVIEW, keys.EVERYWHERE, keys.PROFILE, keys.PAGE, keys.FINDINGS, keys.LEDGER)
    for table in (*tables, keys.RANK, keys.RANKS, keys.SETTINGS, keys.OUTPUT, keys.TRACE):
        for key in table:
            assert isinstance(key, Binding)
            assert " ".join(key.tooltip.split()) in told
