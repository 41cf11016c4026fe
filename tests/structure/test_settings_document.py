"""docs/settings.md against the one table of settings."""

import re
from pathlib import Path

import pytest

from perftui.ipc.facts import SUBJECTS
from perftui.ipc.prerequisites import PREREQUISITES
from perftui.ipc.settings import ENVIRONMENT_ALLOWED, GROUPS, TABLE
from perftui.ipc.settings_document import replaced
from perftui.trainer.probe.environment_reading import SHOWN

TEXT = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()


def test_the_table_stands_there_as_it_is() -> None:
    assert replaced(TEXT) == TEXT, "python -m perftui.ipc.settings_document docs/settings.md makes it anew"


def test_every_setting_has_a_row() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (.+?) \| (.+?) \| (.+?) \|", TEXT, re.MULTILINE)
    expected = [(row.name, row.values(), row.semantics, row.place) for row in TABLE]
    assert [row for row in rows if row[0] not in ("env.NAME", "arg.NAME")] == expected


def test_what_is_needed_and_grouped_exists() -> None:
    names = {row.name for row in TABLE}
    assert {key for row in TABLE for key in row.needs} == set(PREREQUISITES)
    assert all(member in names for group in GROUPS for member in group.members)
    assert all(len(group.members) > 1 for group in GROUPS)


def test_documented_variables_are_those_that_are_allowed() -> None:
    listed = re.findall(r"`([A-Z][A-Z0-9_]+\*?)`", TEXT.split("## Environment variables")[1])
    assert len(listed) > 10
    refused = [name for name in listed if not ENVIRONMENT_ALLOWED.fullmatch(name.replace("*", "X"))]
    assert refused == []


def test_the_variables_that_are_read_back_are_all_told() -> None:
    sentence = TEXT.split("No other variable of the environment is ever read: ")[1].split("\n")[0]
    assert re.findall(r"`([A-Z0-9_]+\*?)`", sentence) == list(SHOWN)


def test_subjects_that_are_read_back_are_all_told() -> None:
    section = TEXT.split("## What is read back")[1].split("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == SUBJECTS


@pytest.mark.parametrize("alternative", ENVIRONMENT_ALLOWED.pattern.split("|"))
def test_every_allowed_family_is_documented(alternative: str) -> None:
    family = max(re.findall(r"[A-Z][A-Z0-9_]{2,}", alternative) or [alternative], key=len)
    assert family.strip("_") in TEXT
