"""The page of ranks over time: the row that was chosen stays chosen, whoever is the latest of it."""

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from perftui.ipc.dashboard_messages import Answer, Done, Question, RanksQuery, ToDashboard
from perftui.trainer.hub.rank_blocks import rank_map
from perftui.tui.app import DashboardApp
from tests.tui import page_scenes, scenes
from tests.tui.played import SMALL, with_app
from tests.tui.screen_text import shown, text
from tests.tui.scripted_hub import ScriptedHub

RANKS = 32
pytestmark = pytest.mark.usefixtures("places")


def latest_is(late: int) -> Callable[[Question], list[ToDashboard]]:
    """A hub in whose newest steps one rank is late."""
    logs = page_scenes.uneven_logs(RANKS, 40, {late: 30.0})

    def told(question: Question) -> list[ToDashboard]:
        if not isinstance(question, RanksQuery):
            return page_scenes.told(question)
        ident = question.command_id
        ranks = rank_map(logs, 0, None, question.blocks, question.bands, question.measure)
        return [Answer(command_id=ident, accepted=True), Done(command_id=ident, ok=True, ranks=ranks)]

    return told


def test_a_chosen_row_stays_chosen_when_another_of_its_ranks_is_the_latest() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        hub.tell = latest_is(5)
        await pilot.press("m")
        await shown(pilot, "rank 5 +")
        await pilot.press("down")
        await shown(pilot, "┃ 3-5 ")
        for late in (4, 3, 4):
            hub.tell = latest_is(late)
            await shown(pilot, f"rank {late} +")
            assert "┃ 3-5 " in text(app)
        await pilot.press("enter")
        await shown(pilot, "── rank 4 cuda:4")

    with_app(scenes.gpus(RANKS), SMALL, play)
