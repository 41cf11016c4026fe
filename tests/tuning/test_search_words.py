"""What a search says: the ladder, the end in one sentence, the code to write, losses that went wrong."""

import random
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.search_records import Ended, Measured
from perftui.ipc.settings import TABLE, Setting, Settings, SettingValue
from perftui.ipc.settings_as_code import lines_to_write
from perftui.trainer.tuning.search.ending import end_sentence, exit_code
from perftui.trainer.tuning.search.proposals import Choice
from perftui.trainer.tuning.search.search_document import (
    Baseline,
    Final,
    NotTried,
    Predicted,
    TrialLine,
    TuneDocument,
    search_document,
)
from perftui.trainer.tuning.search.search_lines import SearchLines, end_lines, ladder
from perftui.trainer.tuning.search.state import SearchState, advance, begin
from perftui.trainer.tuning.standing import Standing
from tests.made_ledger import made_launch

from .simulated_job import PLAN, Job, search, sitting

STARVED = Job(40.0, 0.5, 6.0, 3.0, 0.2, 0.3)
HEALTHY = Job(0.0, 0.1, 30.0, 3.0, 0.1, 0.3)


def ended(job: Job, allow: str = "neutral", **limits: int) -> tuple[SearchState, Choice]:
    run = search(job, random.Random(1), sitting(allow, **limits))  # type: ignore[arg-type]
    assert run.stopped is not None
    reason = run.stopped.reason
    state = advance(
        run.state, Ended(reason=reason, sentence=end_sentence(run.state, reason, run.stopped.choice))
    )
    return state, run.stopped.choice


def test_the_ladder_has_the_original_each_trial_and_the_result() -> None:
    state, choice = ended(STARVED)
    table = ladder(state)
    assert table[0].split() == ["change", "verdict", "gain", "98", "%", "interval", "step", "predicted"]
    assert table[1].startswith("0  as the script has it")
    assert "loader.num_workers=6" in table[2]
    assert "faster, kept" in table[2]
    assert table[-1].startswith("=  the result against the original  faster")
    told = "\n".join(end_lines(state, choice))
    assert "perftui run --set loader.num_workers=6 -- python train.py" in told
    assert "DataLoader(…, num_workers=6)" in told
    assert state.ended is not None
    assert state.ended.sentence.startswith("loader.num_workers=6: 5.")
    assert "the arithmetic is the same" in state.ended.sentence
    assert exit_code(state, "nothing_left") == 0


def test_nothing_to_change_is_said_with_what_was_not_tried() -> None:
    state, choice = ended(HEALTHY)
    told = "\n".join(end_lines(state, choice))
    assert "needs --allow numeric" in told
    assert state.ended is not None
    assert state.ended.sentence.startswith("No setting that may be tried mends what leads (compute.fp32)")
    assert "not allowed: precision.autocast=bf16, precision.tf32=true" in state.ended.sentence
    assert "run it" not in told
    assert "as the script has it" in told
    document = search_document(state, choice)
    assert (document.final.verdict, document.final.gain, document.final.set) == ("unchanged", None, {})
    assert {each.reason for each in document.not_tried} == {"needs --allow numeric"}


def test_a_busy_host_is_named_with_its_figures() -> None:
    state, _ = ended(Job(40.0, 0.5, 6.0, 3.0, 0.2, 0.3, se=0.05, foreign_cores=4.0))
    assert state.ended is not None
    assert "other work keeps 4.0 cores busy" in state.ended.sentence
    assert "known to 5.0 % only, and 2.0 % is the limit" in state.ended.sentence
    assert exit_code(state, "contended") == 4


def test_a_result_that_was_not_compared_with_the_original_is_called_provisional() -> None:
    run = search(STARVED, random.Random(1), sitting("neutral", minutes=4))
    assert run.stopped is not None
    assert run.stopped.reason == "out_of_time"
    sentence = end_sentence(run.state, "out_of_time", Choice((), ()))
    assert "has not been compared with the original" in sentence
    assert "--resume goes on" in sentence
    assert search_document(run.state, run.stopped.choice).final.verdict == "provisional"


def test_what_is_broken_off_early_claims_nothing() -> None:
    nothing = Choice((), ())
    state = advance(begin(PLAN), sitting())
    assert end_sentence(state, "interrupted", nothing).startswith("Nothing has been measured yet. Broken off")
    run = search(HEALTHY, random.Random(1), sitting("neutral"))
    told = end_sentence(run.state, "interrupted", nothing)
    assert told.startswith("The training has been measured as it is, and no change yet.")
    assert exit_code(run.state, "interrupted") == 130


def test_an_original_that_cannot_be_measured_says_why() -> None:
    failed = made_launch(outcome="failed", note="ValueError: boom")
    state = advance(advance(begin(PLAN), sitting()), Measured(launch=failed, unix=1.0, wall_s=1.0))
    assert "ValueError: boom" in end_sentence(state, "baseline_failed", Choice((), ()))
    assert exit_code(state, "baseline_failed") == 1


STANDS = Standing("warming", 12, 3.0, 10.0, 240.0, 0.1, "steps wander by 12 %")


def test_progress_is_one_line_a_trial_and_nothing_in_between_elsewhere() -> None:
    written: list[str] = []
    lines = SearchLines(written.append)
    run = search(STARVED, random.Random(1), sitting())
    state = begin(PLAN)
    lines.progress(state, run.moves[0])(STANDS)  # type: ignore[arg-type]
    assert written == []
    on_terminal = SearchLines(written.append, is_terminal=True)
    on_terminal.progress(state, run.moves[0])(STANDS)  # type: ignore[arg-type]
    on_terminal.line("next")
    assert written[0] == (
        "\r\x1b[Kbaseline: warming up, 12 steps, 3 ms a step · 0:10 of at most 4:00 · steps wander by 12 %"
    )
    assert written[1:] == ["\r\x1b[K", "next\n"]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_setting_has_a_line_to_write(row: Setting) -> None:
    values: dict[str, list[SettingValue]] = {"int": [4], "bool": [True, False], "text": ["inductor"]}
    for value in values.get(row.kind) or list(row.choices):
        assert len(lines_to_write({row.name: value})) == 1


def test_settings_of_one_call_share_a_line_and_arguments_are_written_as_mapped() -> None:
    change: Settings = {
        "loader.num_workers": 4,
        "loader.pin_memory": True,
        "loader[1].num_workers": 2,
        "compile.mode": "reduce-overhead",
        "env.OMP_NUM_THREADS": "2",
        "arg.batch_size": "64",
    }
    assert lines_to_write(change, {"batch_size": ArgumentTemplate("--batch-size {value}")}) == [
        "DataLoader(…, num_workers=4, pin_memory=True)",
        "DataLoader(…, num_workers=2)  # the second loader",
        "model.compile(mode='reduce-overhead')",
        "export OMP_NUM_THREADS=2",
        "--batch-size 64",
    ]
    assert lines_to_write({"compile.mode": "default"}) == ["model.compile()"]


@pytest.mark.parametrize("kind", [TuneDocument, Baseline, TrialLine, NotTried, Predicted, Final])
def test_every_field_of_the_document_is_documented(kind: type[msgspec.Struct]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text()
    told = text.partition("## `perftui tune --json`")[2].replace("[]`", "`")
    assert [name for name in kind.__struct_fields__ if f"`{name}`" not in told] == []
