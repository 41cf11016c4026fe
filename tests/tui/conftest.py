"""A terminal like any for the dashboard's tests, whatever the one they run in is like."""

from pathlib import Path

import pytest

from tests.conftest import RuntimeDirs


@pytest.fixture
def places(runtime_dirs: RuntimeDirs, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A short folder for sockets, used by everything in this test and by its children."""
    for name in ("NO_COLOR", "PERFTUI_ASCII", "PERFTUI_THEME", "PERFTUI_GRAPH", "COLORFGBG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    return runtime_dirs.runtime
