"""A relaunch in words, from the proposal to the verdict: at the top of the screen and in its panel."""

import dataclasses
from typing import Literal

import msgspec
import pytest

from perftui.ipc.ledger_records import Launch, Verdict
from perftui.ipc.view import HostView, LaunchProgress, RelaunchView
from perftui.tui.renderables.headline import header_line, verdict_lines
from perftui.tui.renderables.lines import plain
from perftui.tui.renderables.proposal_lines import proposal_lines
from perftui.tui.renderables.relaunch_lines import relaunch_lines
from perftui.tui.renderables.remedy_words import proposal, told_time
from perftui.tui.state import DashboardState
from tests.tui import scenes
from tests.tui.screen_text import texts

NOISY = Verdict(
    verdict="too_noisy",
    sentence="too noisy to judge: step times are known to 8.5 % only, 2 % is the limit, 90 steps",
    launches=2,
    steps=90,
)


def stopped(relaunch: RelaunchView | None) -> DashboardState:
    """The run that was stopped for a relaunch."""
    header = scenes.header(state="stopped", exit_code=-15, stopped_by="relaunch")
    ranks = (scenes.rank(0, state="ended"),)
    return DashboardState("demo-1", header=header, ranks=ranks, relaunch=relaunch, connected=True)


def told(**changes: object) -> RelaunchView:
    return msgspec.structs.replace(scenes.RELAUNCH, **changes)


def test_while_it_is_measured_the_top_says_so_and_not_that_the_run_has_ended() -> None:
    first, second = texts(verdict_lines(stopped(scenes.RELAUNCH), 120))
    assert first == " ● MEASURING loader.num_workers 0 → 2: launch 2 of up to 4 · 133 steps"
    assert second.startswith("   x gives up · changed: measuring, 66.9 ms a step · below: the run")
    assert "● measuring a change" in plain(header_line(stopped(scenes.RELAUNCH), 120))


LONG = LaunchProgress(
    label="A",
    state="measuring",
    steps=536,
    step_ms=700.0,
    elapsed_s=130.0,
    limit_s=240.0,
    share=0.54,
    why="steps wander by 12 %: more of them are needed",
)


def test_a_launch_that_goes_on_says_how_long_it_may_and_why_it_does() -> None:
    first, second = texts(verdict_lines(stopped(told(launches=[LONG])), 140))
    assert first.endswith(": launch 1 of up to 4 · 536 steps · 2:10 of at most 4:00")
    why = "steps wander by 12 %: more of them are needed"
    assert second == f"   x gives up · as it is: measuring, 700 ms a step · {why}"
    row, below = texts(relaunch_lines(told(launches=[LONG]), 100))
    assert row.split()[:6] == ["●", "1", "A", "as", "it", "is"]
    assert below == f"  2:10 of at most 4:00 · {why}"
    unlimited = msgspec.structs.replace(LONG, limit_s=None, why=None)
    assert texts(relaunch_lines(told(launches=[unlimited]), 100))[1] == "  2:10"


@pytest.mark.parametrize(
    ("share", "state", "filled"),
    [(0.0, "starting", 0), (0.54, "measuring", 21), (0.9, "measuring", 36), (1.0, "measuring", 39)],
)
def test_its_bar_fills_with_what_is_over_and_not_with_the_length_of_a_step(
    share: float, state: Literal["starting", "measuring"], filled: int
) -> None:
    launch = msgspec.structs.replace(LONG, share=share, state=state)
    done = LaunchProgress(label="A", state="done", steps=100, step_ms=100.0)
    for launches in ([launch], [done, launch]):
        row = texts(relaunch_lines(told(launches=launches), 100))[-2]
        assert (row.count("█"), row.count("░")) == (filled, 40 - filled)
    assert texts(relaunch_lines(told(launches=[done, launch]), 100))[0].count("█") == 40


def test_before_and_after_the_trials_the_top_says_what_is_done() -> None:
    stopping = told(state="stopping", launches=[], message="stopping demo-1")
    assert texts(verdict_lines(stopped(stopping), 100)) == [
        " ■ STOPPING the training, to measure loader.num_workers 0 → 2",
        "   stopping demo-1",
    ]
    starting = told(state="starting", verdict=NOISY, message="starting the training again (as it was)")
    first, second = texts(verdict_lines(stopped(starting), 140))
    assert first.startswith(
        " ○ TOO NOISY TO JUDGE loader.num_workers 0 → 2: step times are known to 8.5 % only"
    )
    assert second == "   starting the training again (as it was)"


def test_a_switch_without_trials_says_what_is_measured() -> None:
    launch = LaunchProgress(label="B", state="warming", steps=48, step_ms=359.0)
    switched = told(state="starting", launches=[launch], message="starting with the change")
    first, second = texts(verdict_lines(stopped(switched), 120))
    assert first == " ● SWITCHED loader.num_workers 0 → 2: how it goes is measured · 48 steps"
    assert second.startswith("   x gives up · changed: warming up, 359 ms a step")


def test_a_launch_that_was_given_up_is_stopped_and_not_failed() -> None:
    def drawn(outcome: Literal["stopped", "failed"]) -> str:
        launch = Launch(run_id="t", label="A", settings={}, outcome=outcome)
        progress = LaunchProgress(label="A", state="failed", steps=26, launch=launch)
        return texts(relaunch_lines(told(launches=[progress]), 100))[0]

    assert drawn("stopped").startswith("■ 1 A as it is stopped")
    assert drawn("failed").startswith("✖ 1 A as it is failed")


@pytest.mark.parametrize(
    ("successor", "words"),
    [
        ("demo-1", "below: the run that goes on"),
        ("demo-2", "the run that goes on: demo-2"),
        (None, "no training"),
    ],
)
def test_the_verdict_says_what_goes_on_and_how_to_close_it(successor: str | None, words: str) -> None:
    done = told(state="done", verdict=scenes.VERDICT, successor=successor)
    first, second = texts(verdict_lines(stopped(done), 120))
    assert first.startswith(" ▲ FASTER loader.num_workers 0 → 2: 2.10 times as fast (+110 %")
    assert words in second
    assert second.startswith("   x closes this · ")


def test_a_refusal_is_told_once() -> None:
    done = told(state="done", verdict=NOISY, message=NOISY.sentence, launches=[])
    assert texts(relaunch_lines(done, 120)) == [
        "○ TOO NOISY TO JUDGE  step times are known to 8.5 % only, 2 % is the limit, 90 steps"
    ]


def test_what_went_wrong_beside_the_verdict_is_told_too() -> None:
    trouble = "the training could not be started again"
    done = told(state="done", verdict=NOISY, message=f"{NOISY.sentence}; {trouble}", launches=[])
    drawn = texts(relaunch_lines(done, 120))
    assert drawn[1:] == [trouble]


def test_an_unfinished_launch_shows_its_steps_and_no_verdict() -> None:
    drawn = texts(relaunch_lines(scenes.RELAUNCH, 100))
    assert [row.split()[:4] for row in drawn] == [["✔", "1", "A", "as"], ["●", "2", "B", "changed"]]


def test_a_proposal_says_how_long_its_trials_take_where_that_is_known() -> None:
    view = scenes.starved()
    state = DashboardState(
        "demo-1",
        header=view.header,
        ranks=tuple(view.ranks),
        findings=tuple(view.findings),
        trials_s=view.trials_s,
    )
    found = proposal(state)
    assert found is not None
    with_time = " ".join(texts(proposal_lines(state, *found, 90)))
    assert "changed (B) in turn: about 1.5 min, at most 4.0 min" in " ".join(with_time.split())
    without = " ".join(texts(proposal_lines(dataclasses.replace(state, trials_s=None), *found, 90)))
    assert "how long they take is not known yet" in " ".join(without.split())
    assert " min" not in without


@pytest.mark.parametrize(
    ("others_busy", "told_words"),
    [
        (None, ""),
        (0.5, ""),
        (
            1.4,
            "other work keeps 1.4 of 2 cores busy at this moment: a verdict is unlikely as long as it does",
        ),
    ],
)
def test_a_proposal_says_so_where_others_keep_the_host_busy(
    others_busy: float | None, told_words: str
) -> None:
    view = scenes.starved()
    host = HostView(name="h", age_s=0.0, cpus=2.0, others_busy=others_busy)
    state = DashboardState(
        "demo-1", header=view.header, ranks=tuple(view.ranks), findings=tuple(view.findings), hosts=(host,)
    )
    found = proposal(state)
    assert found is not None
    drawn = " ".join(" ".join(texts(proposal_lines(state, *found, 90))).split())
    assert ("beware " + told_words in drawn) is bool(told_words)


def test_only_the_leading_change_is_priced() -> None:
    view = scenes.starved()
    state = DashboardState("demo-1", findings=tuple(view.findings), trials_s=(60.0, 240.0))
    found = proposal(state)
    assert found is not None
    assert told_time(state, found[1]) == (60.0, 240.0)
    other = msgspec.structs.replace(found[1], set={"compile.mode": "default"})
    assert told_time(state, other) is None


@pytest.mark.parametrize(
    ("ended", "replayed", "relaunch", "words"),
    [
        (False, False, None, "the training goes on without it; reconnecting"),
        (True, False, scenes.RELAUNCH, "what measures the change goes on without it; reconnecting"),
        (False, True, None, "the recording is as it was: q leaves, and `perftui replay` plays it again"),
    ],
)
def test_a_hub_that_is_silent_is_said_to_leave_alone_what_there_is(
    ended: bool, replayed: bool, relaunch: RelaunchView | None, words: str
) -> None:
    header = scenes.header(state="stopped" if ended else "training", replay=replayed)
    silent = DashboardState("demo-1", header=header, relaunch=relaunch, connected=False, silent_s=12.0)
    first, second = texts(verdict_lines(silent, 120))
    whose = "the replay" if replayed else "the run's hub"
    assert first.strip() == f"! NO ANSWER from {whose} for 12 s; what stands below is the last picture"
    assert second.strip() == words
