"""A search on the screen: as pictures, on its page of a dashboard, and in an app of its own."""

import asyncio
import socket
import sys
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from perftui.ipc.dashboard_messages import Answer, Question, SearchQuery, ToDashboard
from perftui.ipc.errors import NoSuchRun, Refused, UsageError
from perftui.ipc.places import ledger_path, state_root
from perftui.ipc.search_records import Ended, SearchPlan
from perftui.ipc.search_view import SearchView
from perftui.ipc.view import LaunchProgress
from perftui.trainer.tuning.search.search_ledger import open_search_ledger
from perftui.tui.app import DashboardApp
from perftui.tui.glyphs import Glyphs
from perftui.tui.renderables.interval_plot import Axis, axis_of, interval_line
from perftui.tui.renderables.lines import plain, width_of
from perftui.tui.renderables.search_blocks import search_blocks, search_command, search_heading
from perftui.tui.renderables.search_now import now_lines
from perftui.tui.search_app import SearchApp
from perftui.tui.verbs.tuning import tune
from tests.conftest import RuntimeDirs
from tests.tui import scenes
from tests.tui.played import LARGE, SMALL, with_app
from tests.tui.pty_terminal import Terminal
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub
from tests.tui.search_scenes import BROKEN_OFF, ENDED, GOING_ON


def _texts(view: SearchView | None, width: int, opened: frozenset[str] = frozenset()) -> str:
    lines = [part for block in search_blocks(view, opened, width) for part in block.lines]
    assert all(width_of(part) <= width for part in lines)
    return "\n".join(plain(part).rstrip() for part in lines)


def test_an_interval_lies_where_it_belongs() -> None:
    axis = axis_of([(-0.1, 0.1), (0.2, 0.9)])
    assert axis == Axis(-0.1, 0.9)
    assert plain(interval_line(axis, 10, (0.2, 0.5, 0.85), "fine")) == " │ ───●───"
    assert plain(interval_line(axis, 10, (-0.1, 0.0, 0.1), "note")) == "─●─       "
    assert plain(interval_line(axis, 10, None, "frame")) == " │        "
    assert plain(interval_line(axis_of([]), 5, None, "frame")) == "│    "
    assert plain(interval_line(axis_of([(-0.3, -0.1)]), 6, (-0.3, -0.2, -0.1), "note")) == "──●──│"


@pytest.mark.parametrize("width", [40, 77, 97, 117])
def test_a_search_that_goes_on_says_what_is_measured_and_against_what(width: int) -> None:
    told = _texts(GOING_ON, width)
    assert "● MEASURING trial 3: loader.num_workers" in told
    assert "launch 2 of up to 4 (changed): meas" in told
    rows = {line.split()[0]: line for line in told.splitlines() if line[:1].isdigit()}
    assert list(rows) == ["0", "1", "2", "3"]
    assert "▲ faster, kept" in rows["1"]
    assert width < 77 or ("+102 %" in rows["1"] and "70.3 ms" in rows["1"])
    assert "● measuring" in rows["3"]
    assert plain(search_heading(GOING_ON)) == "tune resnet18  3 of 10 changes  ● going on"


def test_what_was_not_measured_stands_with_its_reason_and_what_waits_before_it() -> None:
    told = _texts(GOING_ON, 117)
    waits, aside = told.index("next, if nothing changes 1"), told.index("set aside 1")
    assert waits < told.index("▷ loader.prefetch_factor 4") < aside < told.index("○ precision.autocast bf16")
    assert "needs --allow numeric: it rounds otherwise" in told[aside:]
    assert "its turn has not come" not in told


def test_an_answer_leads_with_its_verdict_and_ends_with_the_command() -> None:
    told = _texts(ENDED, 117)
    assert told.startswith("▲ FASTER loader.num_workers 2: 2.02 times as fast (+102 %")
    assert "=    the result against the original" in told
    assert told.count("run it     perftui run --set loader.num_workers=2 -- python train.py") == 1
    assert search_command(ENDED) == (
        "perftui run --set loader.num_workers=2 -- python train.py --batch-size 16"
    )


def test_a_search_that_was_broken_off_says_how_it_goes_on() -> None:
    told = _texts(BROKEN_OFF, 77)
    assert told.startswith("! BROKEN OFF It has no answer yet: perftui tune --resume goes on with it.")
    assert "○ not judged" in told
    nothing_yet = msgspec.structs.replace(GOING_ON, trials=[], now=None, launch=None, baseline=[])
    assert "● MEASURING the original" in _texts(nothing_yet, 77)
    choosing = msgspec.structs.replace(GOING_ON, now=None, launch=None)
    assert "● CHOOSING what is measured next" in _texts(choosing, 77)
    assert search_command(msgspec.structs.replace(ENDED, run=[])) is None
    assert "perftui tune -- python train.py" in _texts(None, 77)


def test_an_opened_trial_has_every_launch_and_the_prediction() -> None:
    told = _texts(GOING_ON, 97, frozenset({"c-1"}))
    assert "  1 A         180       142    0.4" in told
    assert "predicted  2.1× expected, 4.4× at most" in told
    assert "proposed by input.workers" in told


def test_nothing_that_a_training_says_is_markup_or_an_escape() -> None:
    evil = msgspec.structs.replace(GOING_ON, name="\x1b]0;x\x07", command=["\x1b[31m", "[red]"])
    assert "\x1b" not in _texts(evil, 97) + plain(search_heading(evil))
    assert "[red]" in _texts(evil, 97)


@pytest.mark.usefixtures("places")
def test_t_shows_the_newest_search_and_copies_its_command() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("t")
        await shown(pilot, "● MEASURING trial 3")
        assert isinstance(hub.questions[0], SearchQuery)
        await pilot.press("down", "enter")
        await shown(pilot, "proposed by input.workers")
        await pilot.press("c")
        await shown(pilot, "command copied")
        assert app.clipboard == search_command(GOING_ON)
        await pilot.press("t")
        await shown(pilot, "findings 1")

    with_app(scenes.starved(), SMALL, play)


@pytest.mark.usefixtures("places")
def test_why_there_is_no_search_is_told() -> None:
    def refuse(question: Question) -> list[ToDashboard]:
        return [Answer(command_id=question.command_id, accepted=False, reason="the ledger cannot be read")]

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        hub.tell = refuse
        await pilot.press("t")
        await shown(pilot, "○ the ledger cannot be read")

    with_app(scenes.starved(), SMALL, play)


@pytest.mark.usefixtures("places")
def test_an_app_of_its_own_follows_a_search_to_its_end() -> None:
    views: list[SearchView | None] = [None]

    def read() -> SearchView | None:
        if views[0] is BROKEN_OFF:
            raise Refused("the ledger is busy")
        return views[0]

    async def scene() -> None:
        app = SearchApp(read, Glyphs())
        async with app.run_test(size=LARGE, notifications=True) as pilot:

            async def stands(words: str) -> None:
                await until(pilot, lambda: words in text(app), words)

            await stands("no search on this host yet")
            views[0] = GOING_ON
            await stands("● MEASURING trial 3: loader.num_workers 2 → 4")
            assert "tune-resnet18-1a2b" in text(app).splitlines()[0]
            views[0] = BROKEN_OFF
            await pilot.pause(1.2)
            assert "● MEASURING" in text(app), "what is known stays while the ledger is busy"
            views[0] = ENDED
            await stands("▲ FASTER")
            await pilot.press("end", "c")
            await stands("command copied")
            assert app.clipboard == search_command(ENDED)
            await pilot.press("question_mark")
            await stands("Copy the command that runs the result so far")
            await pilot.press("escape", "q")
        assert app.return_code == 0

    asyncio.run(scene())


def test_watch_takes_no_command_and_needs_a_search(runtime_dirs: RuntimeDirs) -> None:
    from perftui.tui.arguments import parser

    with pytest.raises(NoSuchRun, match="no search on this host; begin one with"):
        tune(parser().parse_args(["tune", "--watch"]))
    with pytest.raises(NoSuchRun, match="no search 'x' on this host"):
        tune(parser().parse_args(["tune", "--watch", "x"]))
    both = parser().parse_args(["tune", "--watch", "x", "--resume", "y"])
    with pytest.raises(UsageError, match="only looks"):
        tune(both)


def test_a_recorded_search_is_watched_with_ones_own_keys(places: Path, tmp_path: Path) -> None:
    plan = SearchPlan(
        search_id="tune-made-1", unix=1.0, host=socket.gethostname(), name="made", command=["x.py"], cwd="/"
    )
    with open_search_ledger(ledger_path()) as ledger:
        ledger.begin_search(plan)
        ledger.add_entry(plan.search_id, Ended(reason="interrupted", sentence="Nothing has been measured."))
    config = tmp_path / "config.toml"
    config.write_text('theme = "light"\n[keys]\nleave = "X"\nsound = "s"\n')
    terminal = Terminal(100, 30, ("-m", "perftui.tui", "tune", "--watch", "made", "--config", str(config)))
    try:
        for words in ("Nothing has been measured.", "$ x.py", "X leave", "not in force, of the config"):
            terminal.wait_for(words)
        terminal.type(b"q")
        terminal.read(0.5)
        assert terminal.process.poll() is None
        terminal.type(b"X")
        assert terminal.wait_for_exit() == 0
    finally:
        terminal.close()


def test_a_configuration_that_is_not_there_is_refused_before_anything_starts(places: Path) -> None:
    words = ("-m", "perftui.tui", "run", "--config", "/gone.toml", "--", sys.executable, "-c", "pass")
    terminal = Terminal(100, 30, words)
    try:
        assert terminal.wait_for_exit() == 2
        assert b"perftui: --config /gone.toml is not there" in terminal.raw
        assert not (state_root() / "runs").exists()
    finally:
        terminal.close()


def test_a_launch_that_goes_on_says_how_long_it_may_and_why_it_does() -> None:
    launch = LaunchProgress(
        label="B",
        state="measuring",
        steps=133,
        step_ms=66.9,
        elapsed_s=130.0,
        limit_s=240.0,
        why="steps wander by 12 %: more of them are needed",
    )
    view = msgspec.structs.replace(GOING_ON, launch=launch)
    _, stands, why, *_ = (plain(row) for row in now_lines(view, 120))
    assert stands.endswith("measuring, 133 steps, 66.9 ms a step · 2:10 of at most 4:00")
    assert why == "  steps wander by 12 %: more of them are needed"
