"""Pages in a real pseudo-terminal: keys in a burst, the clipboard's escape sequence, ASCII, read-only."""

import base64
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from perftui.tui.arguments import dashboard_parser, parser
from tests.tui import page_scenes
from tests.tui.pty_terminal import RUN, Terminal
from tests.tui.scripted_hub import ScriptedHub


@pytest.fixture
def hub(places: Path) -> Iterator[ScriptedHub]:
    with ScriptedHub("demo-1", page_scenes.pages()) as served:
        served.unjudged = page_scenes.UNJUDGED
        yield served


def test_keys_in_a_burst_go_where_they_are_meant(hub: ScriptedHub) -> None:
    hub.output += [f"line {number} {'ERROR' if number in (3, 30) else ''}" for number in range(60)]
    terminal = Terminal(80, 24, ("-c", RUN.format("")))
    try:
        terminal.wait_for("q detach")
        terminal.type(b"o")
        terminal.wait_for("output 86 lines")
        terminal.type(b"/error/\x7f\r")
        terminal.wait_for("/error  2 of 2")
        terminal.wait_for("line 30 ERROR")
        terminal.type(b"NN")
        terminal.wait_for("/error  2 of 2")
        terminal.type(b"N")
        terminal.wait_for("line 3 ERROR")
        assert hub.commands == []
        terminal.type(b"qq")
        assert terminal.wait_for_exit() == 0
    finally:
        terminal.close()


def test_what_is_copied_reaches_the_terminal_by_osc_52(hub: ScriptedHub) -> None:
    terminal = Terminal(80, 24, ("-c", RUN.format("")))
    try:
        terminal.wait_for("q detach")
        terminal.type(b"f")
        terminal.wait_for("CRITICAL input.too_many_workers")
        terminal.type(b"y")
        terminal.wait_for("command copied")
        sent = re.search(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)", terminal.raw)
        assert sent is not None
        assert base64.b64decode(sent[1]) == b"perftui relaunch demo-1 --set loader.num_workers=7"
    finally:
        terminal.close()


def test_inside_tmux_it_is_wrapped_as_well(hub: ScriptedHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    terminal = Terminal(80, 24, ("-c", RUN.format("")))
    try:
        terminal.wait_for("q detach")
        terminal.type(b"f")
        terminal.wait_for("CRITICAL input.too_many_workers")
        terminal.type(b"y")
        terminal.wait_for("command copied")
        plain = re.search(rb"\x1b\]52;c;[A-Za-z0-9+/=]+\x07", terminal.raw)
        assert plain is not None
        assert b"\x1bPtmux;\x1b" + plain[0] + b"\x1b\\" in terminal.raw
    finally:
        terminal.close()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")
def test_a_tmux_as_it_comes_hands_what_is_copied_to_its_terminal(hub: ScriptedHub, tmp_path: Path) -> None:
    socket, config = str(hub.folder / "tmux"), tmp_path / "tmux.conf"
    config.write_text("")
    inside = shlex.join([sys.executable, "-c", RUN.format("")])
    words = ["tmux", "-S", socket, "-f", str(config), "new-session", inside]
    terminal = Terminal(100, 30, ("-c", f"import os; os.execvp('tmux', {words})"))
    try:
        terminal.wait_for("? help q")
        terminal.type(b"f")
        terminal.wait_for("CRITICAL input.too_many_workers")
        terminal.type(b"y")
        terminal.wait_for("command copied")
        deadline = time.monotonic() + 20
        copied = base64.b64encode(b"perftui relaunch demo-1 --set loader.num_workers=7")
        while not re.search(rb"\x1b\]52;c?;" + re.escape(copied), terminal.raw):
            assert time.monotonic() < deadline, terminal.raw[-2000:]
            terminal.read(0.1)
    finally:
        terminal.close()
        subprocess.run(["tmux", "-S", socket, "kill-server"], check=False)


def test_ctrl_l_paints_all_of_it_anew(hub: ScriptedHub) -> None:
    terminal = Terminal(80, 24, ("-c", RUN.format("")))
    try:
        terminal.wait_for("q detach")
        terminal.wait_for("output")
        for _ in range(5):
            terminal.read(0.2)
        before = terminal.lines()
        terminal.wipe()
        terminal.type(b"\x0c")
        terminal.wait_for("q detach")
        for _ in range(10):
            terminal.read(0.2)
        assert terminal.lines()[:4] == before[:4]
        assert [line[:1] for line in terminal.lines()] == [line[:1] for line in before]
        terminal.type(b"s")
        terminal.wait_for("stop the training?")
        terminal.wipe()
        terminal.type(b"\x0c")
        terminal.wait_for("stop the training?")
        assert hub.commands == []
    finally:
        terminal.close()


def test_an_ascii_read_only_dashboard_is_both(hub: ScriptedHub) -> None:
    terminal = Terminal(80, 24, ("-c", RUN.format(", read_only=True, ascii_only=True")))
    try:
        terminal.wait_for("q detach")
        terminal.type(b"prsf")
        terminal.wait_for("! CRITICAL input.too_many_workers")
        assert terminal.raw.isascii()
        terminal.type(b"\r")
        terminal.type(b"i")
        terminal.wait_for("settings in force")
        assert hub.commands == []
    finally:
        terminal.close()


def test_both_flags_are_known_wherever_a_dashboard_opens() -> None:
    alone = dashboard_parser().parse_args(["--read-only", "demo-1", "--ascii"])
    assert (alone.runs, alone.read_only, alone.ascii) == (["demo-1"], True, True)
    for words in (["run", "--ascii", "--read-only", "--", "x"], ["demo", "--ascii", "--read-only"]):
        parsed = parser().parse_args(words)
        assert (parsed.ascii, parsed.read_only) == (True, True)
    for words in (["replay", "--ascii", "F"], ["trace", "--ascii", "F"]):
        assert parser().parse_args(words).ascii
    assert not parser().parse_args(["run", "python", "train.py", "--ascii"]).ascii
