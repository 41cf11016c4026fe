"""docs/settings.md against the one table of settings."""

import re
from pathlib import Path

import pytest

from perftui.ipc.settings import ENVIRONMENT_ALLOWED, TABLE, Setting

TEXT = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()


def _values(row: Setting) -> str:
    if row.kind == "int":
        return f"{row.minimum} to {row.maximum}"
    return {"bool": "true, false", "choice": ", ".join(row.choices), "text": "text"}[row.kind]


def test_every_setting_stands_there_as_it_is_and_no_other() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (.+) \| (.+) \| (.+) \|$", TEXT, re.MULTILINE)
    expected = [(row.name, _values(row), row.semantics, row.what) for row in TABLE]
    assert [row for row in rows if row[0] != "env.NAME"] == expected


def test_documented_variables_are_those_that_are_allowed() -> None:
    listed = re.findall(r"`([A-Z][A-Z0-9_]+\*?)`", TEXT.split("## Environment variables")[1])
    assert len(listed) > 10
    refused = [name for name in listed if not ENVIRONMENT_ALLOWED.fullmatch(name.replace("*", "X"))]
    assert refused == []


@pytest.mark.parametrize("alternative", ENVIRONMENT_ALLOWED.pattern.split("|"))
def test_every_allowed_family_is_documented(alternative: str) -> None:
    family = max(re.findall(r"[A-Z][A-Z0-9_]{2,}", alternative) or [alternative], key=len)
    assert family.strip("_") in TEXT
