"""docs/diagnosis.md, the catalogue, the registry and the policy say the same."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from perftui.trainer.diagnosis.catalogue import ENTRIES
from perftui.trainer.diagnosis.catalogue.document import described, renewed
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.registry import CAUSES, CODES, HEALTHY, IN_DOUBT

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "diagnosis.md").read_text()


def test_every_code_has_one_entry_and_the_other_way_round() -> None:
    assert sorted(entry.code for entry in ENTRIES) == sorted(CODES)
    assert len(set(CODES)) == len(CODES)


def test_the_document_is_made_from_the_catalogue() -> None:
    assert renewed(TEXT) == TEXT, "run python -m perftui.trainer.diagnosis.catalogue.document "
    "docs/diagnosis.md"
    assert [code for code in CODES if f"### {code}\n" not in TEXT] == []


def test_a_document_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="no mark"):
        renewed("# Diagnosis\n")


def test_every_threshold_says_its_unit_and_where_it_comes_from() -> None:
    told = {name: text for name, _, text in described()}
    assert list(told) == [field.name for field in fields(Policy)]
    assert [name for name, text in told.items() if len(text) < 20] == []


def test_codes_that_are_spoken_of_exist() -> None:
    spoken = {*CAUSES, *(code for causes in CAUSES.values() for code in causes), *IN_DOUBT, *HEALTHY}
    assert spoken <= set(CODES)


def test_no_code_explains_itself_in_a_circle() -> None:
    for code in CODES:
        seen: set[str] = set()
        ahead = [*CAUSES.get(code, ())]
        while ahead:
            cause = ahead.pop()
            assert cause != code
            if cause not in seen:
                seen.add(cause)
                ahead += CAUSES.get(cause, ())


def test_demonstrations_that_are_named_exist() -> None:
    named = {entry.demo for entry in ENTRIES if entry.demo}
    assert {name for name in named if not (ROOT / "demos" / f"{name}.py").exists()} == set()


def test_entries_are_complete() -> None:
    assert [e.code for e in ENTRIES if not (e.title and e.signals and e.do)] == []
    urls = [each.url for entry in ENTRIES for each in entry.reports]
    assert [url for url in urls if not re.fullmatch(r"https://\S+", url)] == []
