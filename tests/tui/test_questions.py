"""What a page asks of the hub comes to it, whatever is on top of it, and also where a hub took it with it."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from textual.pilot import Pilot

from perftui.ipc.dashboard_messages import Answer, Done, LedgerQuery, Question, ToDashboard
from perftui.ipc.view import RunView
from perftui.tui.app import DashboardApp
from perftui.tui.messages import RankOpened
from tests.tui import page_scenes, scenes
from tests.tui.played import LARGE, UNICODE, with_app
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")
NEWER = page_scenes.comparison(7, set={"loader.prefetch_factor": 16})
ON_TOP = {"help": ("question_mark", "escape"), "palette": ("ctrl+p", "escape"), "profile": ("w", "w")}


def measured(view: RunView, state: str) -> RunView:
    return msgspec.structs.replace(view, relaunch=msgspec.structs.replace(scenes.RELAUNCH, state=state))


def later(question: Question) -> list[ToDashboard]:
    """Answer with one experiment more."""
    ident = question.command_id
    if not isinstance(question, LedgerQuery):
        return page_scenes.told(question)
    told = Done(command_id=ident, ok=True, comparisons=[NEWER, *page_scenes.COMPARISONS])
    return [Answer(command_id=ident, accepted=True), told]


def of_the_ledger(questions: Sequence[Question]) -> int:
    return sum(isinstance(question, LedgerQuery) for question in questions)


@pytest.mark.parametrize("on_top", ON_TOP)
def test_a_relaunch_that_ends_below_something_is_in_the_ledger(on_top: str) -> None:
    opens, closes = ON_TOP[on_top]
    view = measured(page_scenes.pages(), "measuring")

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("e")
        await shown(pilot, "loader.num_workers 0 → 2")
        assert "prefetch_factor" not in text(app)
        ledger, asked = app.screen, of_the_ledger(hub.questions)
        await pilot.press(opens)
        await until(pilot, lambda: app.screen is not ledger, on_top)
        hub.tell = later
        hub.say(measured(view, "done"))
        await until(pilot, lambda: of_the_ledger(hub.questions) > asked, "the question at the hub")
        await pilot.press(closes)
        await shown(pilot, "loader.prefetch_factor")
        assert of_the_ledger(hub.questions) == asked + 1, "asked once"

    with_app(view, LARGE, play)


def test_a_question_that_a_hub_took_with_it_is_asked_of_the_next() -> None:
    view = page_scenes.pages()

    async def scene() -> None:
        app = DashboardApp("demo-1", UNICODE)
        async with app.run_test(size=LARGE, notifications=True) as pilot:
            with ScriptedHub("demo-1", view) as hub:
                hub.tell = lambda _: []
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await pilot.press("e")
                await shown(pilot, "asking the hub …")
                await until(pilot, lambda: of_the_ledger(hub.questions) == 1, "the question at the hub")
            await until(pilot, lambda: not app.live.connected, "the hub's silence")
            again = msgspec.structs.replace(view, header=msgspec.structs.replace(view.header, hub_restarts=1))
            with ScriptedHub("demo-1", again):
                await shown(pilot, "loader.num_workers 0 → 2")

    asyncio.run(scene())


@pytest.mark.parametrize("comes_late", [False, True])
def test_a_rank_page_shows_the_first_rank_of_a_run_without_its_own(*, comes_late: bool) -> None:
    view, fewer, as_many = scenes.gpus(8), scenes.gpus(2), scenes.gpus(8)
    ended = scenes.header(state="stopped", successor="demo-2", exit_code=-15)
    header = scenes.header(run_id="demo-2")

    async def scene() -> None:
        app = DashboardApp("demo-1", UNICODE)
        async with app.run_test(size=LARGE, notifications=True) as pilot:
            replaced = msgspec.structs.replace(fewer, header=header)
            with ScriptedHub("demo-1", view) as first, ScriptedHub("demo-2", replaced) as second:
                await until(pilot, lambda: app.live.header is not None, "the first update")
                app.post_message(RankOpened(7))
                await shown(pilot, "── rank 7 cuda:7")
                await shown(pilot, "step time  0 to 411")
                first.say(msgspec.structs.replace(view, header=ended))
                await shown(pilot, "── rank 0 cuda:0")
                await shown(pilot, "step time  0 to 411")
                if comes_late:
                    second.say(msgspec.structs.replace(as_many, header=header))
                    await shown(pilot, "── rank 7 cuda:7")
                    await shown(pilot, "step time  0 to 411")
                await pilot.press("h" if comes_late else "l")
                await shown(pilot, "── rank 6 cuda:6" if comes_late else "── rank 1 cuda:1")
                await shown(pilot, "step time  0 to 411")

    asyncio.run(scene())
