"""What the tree promises about itself: packages, sizes, words, links."""

import ast
import re
import sys
from pathlib import Path

import pytest

from perftui.tui.pages import PAGES
from perftui.tui.screens.run_screen import RunScreen

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
ROOMS = ("ipc", "trainer", "tui")
SHIPPED = (*ROOMS, "demos")
MOST_LINES = 400
APP_MOST_LINES = 250
LARGE_BYTES = 500_000
SOURCES = sorted(path for room in (*SHIPPED, "tests", "benchmarks") for path in (ROOT / room).rglob("*.py"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TEXTS = [*SOURCES, *DOCUMENTS, ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / ".ci" / "run"]

# written in halves, so that this file does not contain what it looks for
MACHINE_PATHS = [f"/{first}/{rest}" for first, rest in (("work", ""), ("opt", "venvs"), ("farm", ""))]
VAGUE_NAMES = {"utils", "helpers", "manager", "common", "misc"}
SKIPPED_LINKS = ("http://", "https://", "mailto:")


def _packages() -> list[str]:
    packages: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"][
        "packages"
    ]
    return packages


def test_every_folder_with_an_init_is_a_package_and_the_other_way_round() -> None:
    folders = {
        ".".join(("perftui", *init.parent.relative_to(ROOT).parts))
        for room in SHIPPED
        for init in (ROOT / room).rglob("__init__.py")
    }
    assert set(_packages()) == folders


def test_every_folder_with_code_has_an_init() -> None:
    without = {p.parent for p in SOURCES if p.relative_to(ROOT).parts[0] in SHIPPED}
    assert [folder for folder in without if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_typed_and_never_imported_by_their_bare_name(room: str) -> None:
    assert (ROOT / room / "py.typed").is_file()
    assert room not in sys.modules


def test_what_tests_share_is_in_no_test_module() -> None:
    """Such an import reads one module of tests for another's sake, and ties both."""
    shared = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in SOURCES
        for line in re.findall(r"^\s*from \S*\btest_\w+ import .*$", path.read_text(), re.MULTILINE)
    ]
    assert shared == []


def test_no_source_file_is_long() -> None:
    long = {str(p.relative_to(ROOT)): n for p in SOURCES if (n := _lines(p)) > MOST_LINES}
    assert long == {}
    app = ROOT / "tui" / "app.py"
    assert _lines(app) <= APP_MOST_LINES


def test_every_module_says_what_it_owns() -> None:
    shipped = [p for p in SOURCES if p.relative_to(ROOT).parts[0] in SHIPPED]
    assert [str(p) for p in shipped if not p.read_text().startswith('"""')] == []


def test_modules_are_named_for_what_they_own() -> None:
    assert [p for p in SOURCES if set(p.stem.split("_")) & VAGUE_NAMES] == []


def test_nothing_names_one_machine() -> None:
    found = [(str(p), path) for p in TEXTS for path in MACHINE_PATHS if path in p.read_text()]
    assert found == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_in_documents_resolve(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if target.startswith(SKIPPED_LINKS):
            continue
        path, _, anchor = target.partition("#")
        found = (document.parent / path).resolve() if path else document
        assert found.exists(), f"{document.name}: {target}"
        if anchor and found.suffix == ".md":
            assert anchor in _anchors(found), f"{document.name}: {target}"


def _anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


@pytest.mark.parametrize("path", sorted((ROOT / "tui" / "widgets").glob("*.py")), ids=lambda path: path.stem)
def test_no_widget_computes_a_statistic(path: Path) -> None:
    """A share, a mean or a rate is a quotient: widgets divide nothing, and import nothing that does."""
    tree = ast.parse(path.read_text())
    nodes = list(ast.walk(tree))
    assert not [node.lineno for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
    imported = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    imported |= {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    assert not imported & {"math", "statistics", "numpy"}


def test_a_page_is_a_file_and_a_line() -> None:
    for page in PAGES:
        assert issubclass(page.kind, RunScreen), page
    keys = [page.key for page in PAGES]
    assert len(set(keys)) == len(keys)


def test_no_file_is_large() -> None:
    """What a script leaves behind is no part of the project."""
    rooms = [ROOT / room for room in (*SHIPPED, "tests", "benchmarks", "docs")]
    files = [path for room in rooms for path in room.rglob("*") if path.is_file()]
    assert [str(path) for path in files if path.stat().st_size > LARGE_BYTES] == []
