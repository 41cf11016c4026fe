"""What a rank is at, on cards, in rows and in the header."""

import msgspec
import pytest

from perftui.ipc.facts import RunPhase
from perftui.tui.layout import plan
from perftui.tui.renderables.headline import header_line
from perftui.tui.renderables.lines import plain
from perftui.tui.renderables.phase_words import phase_word, phase_words, time_words
from perftui.tui.renderables.rank_card import RankPicture, rank_card
from perftui.tui.renderables.rank_rows import rank_row
from perftui.tui.state import NO_TRACK, DashboardState

from . import scenes


@pytest.mark.parametrize(
    ("phase", "for_s", "words", "word"),
    [
        ("validation", 12.3, "validating for 12 s", "validating"),
        ("checkpoint", 75.0, "saving a checkpoint for 75 s", "saving"),
        ("between", 2.0, "between epochs for 2 s", "new epoch"),
        ("compiling", 0.9, None, None),
        ("training", 500.0, None, None),
        (None, None, None, None),
    ],
)
def test_words(phase: RunPhase | None, for_s: float | None, words: str | None, word: str | None) -> None:
    assert phase_words(phase, for_s) == words
    assert phase_word(phase, for_s) == word


def test_a_validating_rank_says_so_and_for_how_long() -> None:
    view = msgspec.structs.replace(scenes.rank(0), state="validating", phase="validation", phase_for_s=12.3)
    picture = RankPicture(view, NO_TRACK)
    assert "● validating for 12 s" in plain(rank_card(picture, 80, 6)[0])
    assert "● validating" in plain(rank_row(picture, 120))
    saving = RankPicture(msgspec.structs.replace(view, state="training", phase="checkpoint"), NO_TRACK)
    assert "● saving a checkpoint for 12 s" in plain(rank_card(saving, 80, 6)[0])
    assert "● saving" in plain(rank_row(saving, 120))


def test_the_header_says_what_the_lead_rank_is_at() -> None:
    def drawn(**changes: object) -> str:
        return plain(header_line(DashboardState("r", header=scenes.header(**changes)), 120))

    assert "● validating for 12 s" in drawn(phase="validation", phase_for_s=12.3)
    assert "● training" in drawn(phase="training", phase_for_s=12.3)
    assert "! stalled" in drawn(state="stalled", phase="validation", phase_for_s=12.3)


def test_what_takes_time_beside_the_steps_is_told_of_the_time() -> None:
    spent = {"starting": 50.0, "training": 63.0, "validation": 36.8, "checkpoint": 0.2, "ending": 9.0}
    told = "training 63 % · validation 37 % of the time"
    assert plain(time_words(spent, 60)) == told
    assert plain(time_words(spent, 100)) == f"{told}; the bar is of the step"
    assert time_words({"training": 99.0, "validation": 1.0, "starting": 300.0}, 100) == ()
    assert time_words(None, 100) == time_words({}, 100) == ()


def test_the_card_has_it_below_the_bar() -> None:
    view = msgspec.structs.replace(scenes.rank(0), phases_s={"training": 63.0, "validation": 37.0})
    drawn = [plain(part) for part in rank_card(RankPicture(view, NO_TRACK), 100, 7)]
    assert "validation 37 % of the time; the bar is of the step" in drawn[5]
    assert plan(120, 40, 1, pauses=True).card == plan(120, 40, 1).card + 1
