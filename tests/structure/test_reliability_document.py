"""docs/reliability.md against the tests: each named one exists, and each odd script has its line."""

import ast
import re
from pathlib import Path

from tests.e2e.odd_scripts import ODD

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/reliability.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_HEAD = "| what the script does | what is lost |"


def _tests_of(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_named_test_exists() -> None:
    named = NAMED.findall(TEXT)
    assert len(named) > 60
    missing = [f"{file}::{name}" for file, name in named if name not in _tests_of(ROOT / file)]
    assert missing == []


def test_every_row_names_a_test() -> None:
    tables = TEXT.partition("## What scripts do")[0]
    rows = [line for line in tables.splitlines() if line.startswith("| ") and not line.startswith("| fault")]
    assert len(rows) > 25
    assert [row for row in rows if not NAMED.search(row)] == []


def test_every_odd_script_has_its_line() -> None:
    rows = TEXT.partition(_HEAD)[2].partition("\n\n")[0].splitlines()
    told = [row.split("|")[1].strip() for row in rows if row.startswith("| ") and "tests/" not in row]
    assert told == list(ODD)
