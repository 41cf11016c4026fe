"""Every remedy whose advice changes what is computed says so, wherever in the rules it is made."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

DIAGNOSIS = Path(__file__).parents[2] / "trainer" / "diagnosis"
ALTERS = re.compile(
    r"every n-th step|fewer numbers|fewer points|larger batch|smaller batch|accumulat|half precision|"
    r"bfloat16|drop_last|flush_denormal"
)
HARMLESS = re.compile(r"(?:log|read the loss|logged) every n-th step|a batch above|validate")
"""Of what is told to a person, and of validations: the weights stay."""
FILES = sorted(path for path in (*DIAGNOSIS.glob("*.py"), *DIAGNOSIS.glob("rules/*.py")))


def _strings(node: ast.AST, constants: dict[str, str]) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value
        if isinstance(each, ast.Name):
            yield constants.get(each.id, "")


def _constants(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = "".join(_strings(node.value, {}))
    return found


def _remedies(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Yield the advice of each remedy, and whether it has a caution."""
    constants = _constants(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Remedy":
            words = {each.arg: each.value for each in node.keywords}
            if "advice" in words:
                yield "".join(_strings(words["advice"], constants)), "caution" in words


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_changes_the_result_is_cautioned(path: Path) -> None:
    silent = [
        advice
        for advice, cautioned in _remedies(ast.parse(path.read_text()))
        if not cautioned and ALTERS.search(HARMLESS.sub("", advice))
    ]
    assert silent == []


def test_the_remedies_are_seen() -> None:
    seen = [each for path in FILES for each in _remedies(ast.parse(path.read_text()))]
    assert len(seen) > 60
    assert sum(bool(ALTERS.search(advice)) for advice, _ in seen) > 10
