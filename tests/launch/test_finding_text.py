"""Findings in the text of `status` and `--no-tui`: what follows from a cause stands below it."""

import json

import msgspec
import pytest

from perftui.ipc.places import make_run_places
from perftui.ipc.run_files import ExitRecord
from perftui.trainer.launch.foreground import finish
from perftui.trainer.launch.plain_text import status_text
from tests.reporting.made_report import summary
from tests.tui.page_scenes import ADVICE, CAUSE, CONSEQUENCE


def findings_text(*findings: msgspec.Struct) -> list[str]:
    document = json.loads(msgspec.json.encode(summary(findings=list(findings), message=None)))
    lines = status_text(document)
    return lines[next(at for at, text in enumerate(lines) if "critical" in text) :]


def test_a_consequence_stands_indented_below_its_cause() -> None:
    assert findings_text(CAUSE, ADVICE, CONSEQUENCE) == [
        f"critical  input.too_many_workers: {CAUSE.sentence}",
        "          try --set loader.num_workers=7 (at most 1.7x)",
        "          not sure: a profile window shows where the workers wait",
        f"  warning   input.epoch_start: follows from input.too_many_workers: {CONSEQUENCE.sentence}",
        f"warning   sync.each_step: {ADVICE.sentence}",
        "          read the loss every 100 steps instead of `loss.item()` at each (train.py:88)",
    ]


def test_a_consequence_whose_cause_is_not_told_stands_alone() -> None:
    text = findings_text(CAUSE, msgspec.structs.replace(CONSEQUENCE, under="cpu.quota"))
    assert text[-1] == f"warning   input.epoch_start: {CONSEQUENCE.sentence}"


@pytest.mark.usefixtures("runtime_dirs")
def test_the_last_line_of_a_run_names_what_follows_from_the_leading_finding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = make_run_places("done-1")
    places.summary.write_bytes(msgspec.json.encode(summary(findings=[CAUSE, ADVICE, CONSEQUENCE])))
    record = ExitRecord(outcome="finished", exit_code=0, ended_unix=1.0)
    assert finish(places, record, None) == 0
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith(f"{CAUSE.code}: {CAUSE.sentence} What follows from it: input.epoch_start")
