"""The line of keys below a question on a narrow screen: the way out is there, and nothing bold without it."""

import pytest
from textual.pilot import Pilot

from perftui.tui.app import DashboardApp
from tests.tui import page_scenes
from tests.tui.played import with_app
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")
OUT = {"r": "esc/n keep this run", "s": "esc/n no", "P": "esc no window", "question_mark": "esc back"}


@pytest.mark.parametrize("width", [20, 40, 60])
def test_the_way_out_of_a_question_is_shown_at_any_width(width: int) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        for key, words in OUT.items():
            await pilot.press(key)
            await shown(pilot, words)
            keys = text(app).splitlines()[-1]
            assert "unmeasured" not in keys or "measure, then switch" in keys, keys
            await pilot.press("escape")
        await pilot.press("o", "slash")
        await until(pilot, lambda: "esc clear" in text(app), "the way out of a search")
        assert hub.commands == []

    with_app(page_scenes.pages(), (width, 12), play)
