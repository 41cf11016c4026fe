"""A relaunch on a command line: what is asked beforehand, and what is written as it goes."""

from pathlib import Path

import msgspec
import pytest

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.host_view import HostView
from perftui.ipc.view import LaunchProgress, RelaunchView
from perftui.trainer.tuning.follow_relaunch import ProgressLines
from perftui.trainer.tuning.plan import RelaunchPlan
from perftui.trainer.tuning.relaunch_verb import preview
from perftui.trainer.tuning.subject import Subject
from tests.tuning.made_updates import history, rank_view, update


def picture(host: HostView) -> Update:
    return update([rank_view(0, 40)], [history(0, 0, [100.0] * 40)], host=host)


@pytest.mark.parametrize(("others_busy", "is_told"), [(1.4, True), (0.3, False), (None, False)])
def test_the_question_says_so_where_others_keep_the_host_busy(
    others_busy: float | None, *, is_told: bool
) -> None:
    host = HostView(name="h", age_s=0.0, cpus=2.0, others_busy=others_busy)
    subject = Subject(["python"], Path(), "n", {}, live=picture(host))
    told = preview(subject, RelaunchPlan(set={"loader.num_workers": 2}, most_s=240.0))
    words = "other work keeps 1.4 of 2 cores busy at this moment: a verdict is unlikely as long as it does"
    assert (words in told) is is_told


def test_a_launch_that_goes_on_says_once_a_minute_why() -> None:
    written: list[str] = []
    lines = ProgressLines(written.append)
    launch = LaunchProgress(label="A", state="measuring", steps=90, step_ms=700.0, limit_s=240.0, why="wild")
    for elapsed_s in (50.0, 59.0, 61.0, 80.0, 125.0):
        told = msgspec.structs.replace(launch, elapsed_s=elapsed_s)
        lines.take(RelaunchView(relaunch_id="r", state="measuring", set={}, before={}, launches=[told]))
    assert written == [
        "  launch 1 A: measuring, 90 steps, 700.0 ms a step, 0:50 of at most 4:00\n",
        "  launch 1 A: measuring, 90 steps, 700.0 ms a step, 1:01 of at most 4:00; wild\n",
        "  launch 1 A: measuring, 90 steps, 700.0 ms a step, 2:05 of at most 4:00; wild\n",
    ]
