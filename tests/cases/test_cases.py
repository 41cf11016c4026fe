"""The test bed itself: its catalogue holds together, and its runner tells right from wrong."""

import ast
import re

import pytest

from tests.cases.case import HEALTHY, SCRIPTS, Case
from tests.cases.catalogue import CASES
from tests.cases.measured import Truth, read_truths
from tests.cases.results import Result
from tests.cases.run import run_case
from tests.cases.start import command_of, placed
from tests.cases.table import tables

UNPROVEN = {"pinned_to_one_core", "workers_on_one_core"}  # show only where a core is idle: not measured there
BY_NAME = {case.name: case for case in CASES}


def test_every_script_is_in_the_catalogue_and_the_other_way_round() -> None:
    assert {case.script for case in CASES} == {path.stem for path in SCRIPTS.glob("*.py")}
    assert len(BY_NAME) == len(CASES)


def test_there_are_as_many_as_were_promised() -> None:
    faulty = [case for case in CASES if not case.healthy]
    assert len([case for case in faulty if not case.gpus]) >= 40
    assert len([case for case in faulty if case.gpus]) >= 15
    assert len([case for case in faulty if case.report and case.frozen]) >= 20
    assert len([case for case in CASES if case.healthy and not case.gpus]) >= 12
    fresh = [case for case in CASES if case.fresh]
    assert len([case for case in fresh if not case.healthy and not case.gpus]) >= 14
    assert len([case for case in fresh if not case.healthy and case.gpus]) >= 6
    assert len([case for case in fresh if case.healthy]) >= 6


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_script_is_plain_and_says_what_it_restates(case: Case) -> None:
    text = case.text()
    said = ast.get_docstring(ast.parse(text)) or ""
    assert said
    assert "perftui" not in text
    assert (f"{case.report}:" in said) == (case.report is not None)
    assert re.search(r"print\(\s*f?.*step ", text)  # what the stopwatch reads
    assert bool(case.mend) or case.healthy or case.note or case.gpus
    if case.mend:
        compile(case.mended_text(), case.script, "exec")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_several_codes_are_right_only_with_a_reason(case: Case) -> None:
    assert case.expected
    assert len(case.expected) == 1 or case.note
    assert all(re.fullmatch(r"[a-z]+\.[a-z0-9_]+", code) for code in case.expected)


def _timed(case: Case) -> bool:
    return bool(case.mend) and case.costs_time and not case.gpus and case.name not in UNPROVEN


@pytest.mark.parametrize("case", [case for case in CASES if _timed(case)], ids=lambda case: case.name)
def test_the_stopwatch_says_that_the_time_goes_into_the_cause(case: Case) -> None:
    share = read_truths()[case.name].share
    assert share is not None
    assert share >= 0.3


def test_a_mend_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ValueError, match="no such text"):
        Case("healthy_mlp", HEALTHY, mend=(("no such text", ""),)).mended_text()


def test_neither_name_nor_folder_tells_of_the_cause() -> None:
    case = BY_NAME["images_no_workers"]
    with placed(case.text()) as folder:
        assert [path.name for path in folder.iterdir()] == ["train.py"]
        assert case.script not in " ".join([str(folder), *command_of(case)])


@pytest.mark.parametrize(
    ("result", "right"),
    [
        (Result("a", ("input.item",), lead="input.item"), True),
        (Result("a", ("input.item",), lead="input.workers", codes=("input.workers:critical",)), False),
        (Result("a", ("input.item", "input.workers"), lead="input.workers"), True),
        (Result("a", ("input.item",)), False),
        (Result("a", ("input.item",), lead="input.item", problem="did not end"), False),
        (Result("a", HEALTHY, lead="compute.bound"), True),
        (
            Result("a", HEALTHY, lead="compute.bound", codes=("compute.bound:info", "pause.gc:critical")),
            False,
        ),
        (Result("a", HEALTHY, lead="self.contended"), False),
        (Result("a", HEALTHY, lead="self.contended", busy=True), True),
        (Result("a", ("input.item",), codes=("compute.bound:info",), mended=True), True),
        (Result("a", ("input.item",), codes=("compute.bound:info", "input.item:info"), mended=True), False),
    ],
)
def test_right_and_wrong(result: Result, right: bool) -> None:
    assert result.right is right


def test_the_table_counts_what_led_instead() -> None:
    runs = [
        Result("large_jpegs", ("input.item",), lead="input.item"),
        Result("large_jpegs", ("input.item",), lead="input.workers"),
        Result("healthy_mlp", HEALTHY, lead="compute.bound"),
        Result("healthy_mlp", HEALTHY, lead="compute.bound", codes=("pause.gc:critical",), busy=True),
        Result("large_jpegs", ("input.item",), mended=True),
    ]
    told = tables(runs, CASES, {"large_jpegs": Truth(90.0, 0.8, 0.7)}, {"other": {"large_jpegs": "no idea"}})
    assert "Scripts with a cause: 1 of 2 (50.0 %)" in told
    assert (
        "1 of 1 (100.0 %) idle, 0 of 1 (0.0 %) beside a busy process without fault; 1 with a critical" in told
    )
    assert "Mended scripts: 1 of 1" in told
    assert "| input.item | 2 | 1 | input.workers ×1 |" in told
    row = next(line for line in told.splitlines() if line.startswith("| large_jpegs "))
    assert [cell.strip() for cell in row.split("|")[3:9]] == [
        "—",
        "0.80",
        "input.item",
        "input.item ×1, input.workers ×1",
        "1/2",
        "no idea",
    ]


def test_the_table_tells_the_rate_on_scripts_written_after_the_rules_apart() -> None:
    runs = [
        Result("old", ("input.item",), lead="input.item"),
        Result("new", ("input.item",), lead="input.item"),
        Result("new", ("input.item",), lead="input.workers"),
        Result("sound", HEALTHY, lead="compute.bound"),
        Result("new sound", HEALTHY, lead="pause.gc"),
    ]
    cases = [
        Case("old", ("input.item",)),
        Case("new", ("input.item",), fresh=True),
        Case("sound", HEALTHY),
        Case("new sound", HEALTHY, fresh=True),
    ]
    told = tables(runs, cases, {})
    assert (
        "Scripts with a cause: 2 of 3 (66.7 %) led by the right code "
        "(written after the rules: 1 of 2 (50.0 %); the others: 1 of 1 (100.0 %))." in told
    )
    assert "(written after the rules: 0 of 1 (0.0 %); the others: 1 of 1 (100.0 %))." in told
    marks = [
        line.split("|")[3].strip() for line in told.splitlines() if line.startswith(("| old ", "| new |"))
    ]
    assert marks == ["—", "yes"]
    assert "written after" not in tables(runs, [], {})
    assert "(all written after the rules)" in tables(runs[1:3], cases, {})


@pytest.mark.torch
@pytest.mark.slow
def test_a_case_is_run_as_a_user_would() -> None:
    result = run_case(BY_NAME["images_no_workers"], seconds=6)
    assert result.problem is None
    assert result.lead is not None
    assert result.steps > 0
