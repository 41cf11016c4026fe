"""Fixtures of the dashboard's tests: a place for sockets, and the repository's root on the path."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that tests may share `tests.tui.scenes`


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short folder for sockets and state, used by everything in this test and by its children."""
    folder = Path(tempfile.mkdtemp(prefix="pt"))
    monkeypatch.setenv("PERFTUI_RUNTIME_DIR", str(folder / "r"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "s"))
    for name in ("NO_COLOR", "PERFTUI_ASCII", "PERFTUI_THEME", "PERFTUI_GRAPH", "COLORFGBG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    yield folder
    shutil.rmtree(folder)
