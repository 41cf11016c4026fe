"""Sentences at the top of the screen: whole where there is room, and never without the place."""

from collections.abc import Sequence

import pytest

from perftui.ipc.findings import Finding, Remedy
from perftui.tui.layout import plan, verdict_room
from perftui.tui.renderables.headline import verdict_lines
from perftui.tui.renderables.lines import plain, width_of
from perftui.tui.renderables.shortening import in_lines, shortened, without_beginning
from perftui.tui.state import DashboardState
from tests.tui import scenes

PLACE = "train.py:20 augment"
SENTENCE = (
    "The training thread computes on the CPU 62 % of the time before the backward, outside of the model, at "
    f"{PLACE}, and neither loader workers nor the GPU have anything to do meanwhile."
)
ADVICE = "move it into the dataset: loader workers do it beside the training, for several batches"


@pytest.mark.parametrize("width", range(24, 220, 7))
def test_a_sentence_that_is_shortened_keeps_its_place(width: int) -> None:
    told = shortened(SENTENCE, width)
    assert len(told) <= width
    assert PLACE in told


def test_a_sentence_is_shortened_in_its_middle_for_the_place() -> None:
    assert shortened(SENTENCE, 200) == SENTENCE
    assert shortened(SENTENCE, 70) == f"The training thread computes on the CPU 62 % of… {PLACE}"
    assert shortened("It waits at train.py:9 main, all the time", 30) == "It waits at train.py:9 main"
    assert shortened("It waits (/home/me/long/train.py:9 main) always", 22) == "…long/train.py:9 main"


def test_a_sentence_without_a_place_ends_with_a_clause() -> None:
    assert shortened("The training waits for its loader, which has no workers", 40) == (
        "The training waits for its loader"
    )


@pytest.mark.parametrize("width", range(1, 40))
def test_of_a_place_the_end_is_kept(width: int) -> None:
    told = without_beginning(f"/home/me/project/{PLACE}", width)
    assert len(told) <= width
    assert f"/home/me/project/{PLACE}".endswith(told.lstrip("…"))


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_in_lines_it_is_whole_or_keeps_the_place(most: int) -> None:
    told = in_lines(SENTENCE, 60, most)
    assert len(told) <= most
    assert all(len(part) <= 60 for part in told)
    assert " ".join(told) == SENTENCE if most == 4 else PLACE in " ".join(told)


def _state(remedy: Remedy) -> DashboardState:
    lead = Finding(
        code="cpu.python", severity="critical", share=0.6, sentence=SENTENCE, evidence=[], remedy=remedy
    )
    return _seen((lead,))


def _seen(findings: Sequence[Finding]) -> DashboardState:
    header = scenes.starved().header
    return DashboardState("demo-1", header=header, findings=tuple(findings), connected=True)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160, 200])
@pytest.mark.parametrize("most", [2, 3, 4])
def test_the_verdict_keeps_the_place_at_every_size(width: int, most: int) -> None:
    lines = verdict_lines(
        _state(Remedy(advice=ADVICE, at="/home/me/project/train.py:20 augment")), width, most
    )
    told = [plain(part).rstrip() for part in lines]
    assert 2 <= len(told) <= most
    assert all(width_of(part) == width for part in lines)
    sentence = [part for part in told if part.startswith((" ▲ CRITICAL ", " " * 12))]
    assert PLACE in " ".join(part.strip() for part in sentence)
    assert PLACE in " ".join(part.strip() for part in told if part not in sentence)


def test_with_room_the_verdict_is_whole() -> None:
    told = [
        plain(part).strip()
        for part in verdict_lines(_state(Remedy(advice=ADVICE, at="data.py:7 get")), 120, 4)
    ]
    assert " ".join(told[:2]) == f"▲ CRITICAL {SENTENCE}"
    assert " ".join(" ".join(told[2:]).split()) == f"{ADVICE} data.py:7 get"


def test_a_place_is_said_once() -> None:
    told = " ".join(plain(part) for part in verdict_lines(_state(Remedy(advice=ADVICE, at=PLACE)), 120, 4))
    assert told.count(PLACE) == 1


def test_long_changes_of_settings_go_on_in_a_second_line() -> None:
    settings = {f"loader.long_name_of_setting_{letter}": 2 for letter in "abc"}
    lines = verdict_lines(_state(Remedy(set=dict(settings), expected=2.0)), 100, 4)
    told = " ".join(plain(part).strip() for part in lines)
    assert all(f"{name} — → 2" in told for name in settings)
    assert told.endswith("expected 2.0×")


def test_the_verdict_takes_more_lines_where_the_screen_has_them() -> None:
    assert [verdict_room(height) for height in (12, 23, 24, 29, 30, 60)] == [2, 2, 3, 3, 4, 4]
    few, many = (plan(120, 40, 1, findings=(8, 8), verdict=lines) for lines in (2, 4))
    assert few.ranks + few.middle + few.bottom - 2 == many.ranks + many.middle + many.bottom


def test_an_ordinary_verdict_is_two_lines_on_any_screen() -> None:
    assert len(verdict_lines(_seen(scenes.starved().findings), 120, 4)) == 2
