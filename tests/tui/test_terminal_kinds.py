"""Kinds of terminals: what is written to each is what it can show."""

import re
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from perftui.trainer.launch import terminal_check
from perftui.trainer.launch.terminal_check import terminal_checks
from tests.tui import scenes
from tests.tui.pty_terminal import RUN, Terminal
from tests.tui.scripted_hub import ScriptedHub

COLOURS = {
    "16m": re.compile(rb"[34]8;2;\d+;\d+;\d+"),
    "256": re.compile(rb"[34]8;5;\d+"),
    "16": re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:[349]|10)[0-7][;m]"),
}
KINDS: dict[str, tuple[Mapping[str, str], str, bool]] = {
    "truecolor": ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "16m", False),
    "256": ({"TERM": "tmux-256color"}, "256", False),
    "16": ({"TERM": "xterm"}, "16", False),
    "screen": ({"TERM": "screen"}, "16", False),
    "console": ({"TERM": "linux"}, "16", True),
    "vt100": ({"TERM": "vt100"}, "", True),
    "vt220": ({"TERM": "vt220"}, "", False),
    "no-colour": ({"NO_COLOR": "1"}, "", False),
    "no-colour-truecolor": ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, "", False),
    "c-locale": ({"LC_ALL": "C"}, "256", True),
    "latin-1": ({"LC_ALL": "", "LANG": "de_DE.ISO-8859-1"}, "256", True),
    "no-locale": ({"LC_ALL": ""}, "256", False),
    "no-locale-tmux": ({"LC_ALL": "", "TMUX": "/tmp/tmux-0/default,1,0"}, "256", True),
    "utf8-tmux": ({"TMUX": "/tmp/tmux-0/default,1,0"}, "256", False),
}
NO_COLOURS = ("vt100", "vt220")
QUICK = ("256", "vt100", "c-locale", "no-locale-tmux")


def colours_in(raw: bytes) -> set[str]:
    """Return which sorts of colours are asked for; the parts of one are not those of another."""
    found: set[str] = set()
    for name, pattern in COLOURS.items():
        raw, times = pattern.subn(b"", raw)
        found |= {name} if times else set()
    return found


def kinds() -> list[object]:
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in KINDS]


@pytest.fixture
def hub(places: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedHub]:
    for name in ("COLORTERM", "LANG", "LC_CTYPE", "TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedHub("demo-1", scenes.starved(), [scenes.history(0, 200)]) as served:
        yield served


@pytest.mark.parametrize("kind", kinds())
def test_each_kind_is_written_what_it_can_show(hub: ScriptedHub, kind: str) -> None:
    environment, colours, ascii_only = KINDS[kind]
    terminal = Terminal(80, 24, environment=environment, answers=True)
    try:
        terminal.wait_for("CRITICAL")
        terminal.wait_for("q detach")
        terminal.type(b"f")
        terminal.wait_for("esc back")
        terminal.type(b"qq")
        assert terminal.wait_for_exit() == 0
    finally:
        terminal.close()
    assert colours_in(terminal.raw) == {colours} - {""}
    assert terminal.raw.isascii() == ascii_only


def _described(term: str) -> int:
    return 0 if term in NO_COLOURS else 8


@pytest.mark.parametrize("kind", KINDS)
def test_the_doctor_says_what_the_dashboard_draws_with(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environment, colours, ascii_only = KINDS[kind]
    monkeypatch.setattr(
        terminal_check, "described_colours", _described
    )  # a process reads one description only
    known = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment}
    said = {name: text for _, name, text, _ in terminal_checks(known)}
    depth = {"16m": "16 million", "": "none"}.get(colours, colours)
    assert said["colours"].startswith(depth) or (depth == "none" and said["colours"] == "off (NO_COLOR)")
    assert ("ASCII" in said["encoding"]) is ascii_only


@pytest.mark.parametrize("size", [(40, 10), pytest.param((400, 100), marks=pytest.mark.long)])
def test_very_small_and_very_large(hub: ScriptedHub, size: tuple[int, int]) -> None:
    terminal = Terminal(*size, answers=True)
    try:
        terminal.wait_for("CRITICAL")
        for key, words in ((b"f", "findings"), (b"e", "ledger"), (b"i", "settings"), (b"o", "output")):
            terminal.type(key)
            terminal.wait_for(words)
        terminal.type(b"qq")
        assert terminal.wait_for_exit() == 0
    finally:
        terminal.close()


def test_the_terminals_own_size_counts_not_one_that_was_exported_before(hub: ScriptedHub) -> None:
    terminal = Terminal(100, 30, answers=True, environment={"COLUMNS": "60", "LINES": "12"})
    try:
        terminal.wait_until(lambda: "? help q" in terminal.text.splitlines()[29], "keys in the last line")
        terminal.resize(120, 40)
        terminal.wait_until(lambda: "? help q" in terminal.text.splitlines()[39], "keys in the last line")
    finally:
        terminal.close()


def test_after_a_storm_of_sizes_the_picture_is_that_of_the_last(hub: ScriptedHub) -> None:
    terminal = Terminal(120, 40, answers=True)
    try:
        terminal.wait_for("input.workers")
        for number in range(40):
            terminal.resize(60 + number * 7 % 90, 12 + number * 5 % 40)
            terminal.read(0.01)
        terminal.resize(80, 24)
        terminal.wait_until(lambda: "q detach" in terminal.text.splitlines()[23], "keys in the last line")
        terminal.wait_until(lambda: "4:12" in terminal.text.splitlines()[0], "the time in the first line")
        assert terminal.process.poll() is None
    finally:
        terminal.close()


SHELL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.environ["PS1"] = "ready> "
os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
"""


@pytest.fixture
def shell(hub: ScriptedHub) -> Iterator[Terminal]:
    """A person's shell with its jobs, and a dashboard begun from it."""
    terminal = Terminal(80, 24, ("-c", SHELL), answers=True)
    try:
        terminal.wait_for("ready>")
        command = RUN.format("").replace("'", '"')
        terminal.type(f"{sys.executable} -c '{command}'\r".encode())
        terminal.wait_for("q detach")
        yield terminal
        terminal.type(b"exit\r")
        terminal.wait_for_exit()
    finally:
        terminal.close()


def test_ctrl_z_gives_the_shell_back_and_fg_the_screen(shell: Terminal) -> None:
    for _ in range(2):
        shell.type(b"\x1a")
        shell.wait_for("Stopped")
        shell.type(b"echo $((6 * 7))\r")
        shell.wait_for("\n42")
        shell.type(b"fg\r")
        shell.wait_for("q detach")
    shell.type(b"i")
    shell.wait_for("settings in force")
    shell.type(b"qq")
    shell.wait_until(lambda: shell.text.rstrip().endswith("ready>"), "the prompt")
    shell.type(b"echo $((7 * 7))\r")
    shell.wait_for("\n49")


def test_in_the_background_it_stops_again_and_fg_still_brings_screen_and_keys(shell: Terminal) -> None:
    shell.type(b"\x1a")
    shell.wait_for("Stopped")
    for number in (6, 7):
        painted = shell.raw.count(b"\x1b[?1049h")
        shell.type(b"bg\r")
        shell.read_for(1.0)
        shell.type(f"jobs; echo $(({number} * {number}))\r".encode())
        shell.wait_for(f"\n{number * number}")
        assert shell.raw.count(b"\x1b[?1049h") == painted
        assert "Running" not in shell.text
    shell.type(b"fg\r")
    shell.wait_for("q detach")
    shell.type(b"i")
    shell.wait_for("settings in force")
    shell.type(b"qq")
    shell.wait_until(lambda: shell.text.rstrip().endswith("ready>"), "the prompt")
    shell.type(b"stty -a; echo $((8 * 8))\r")
    shell.wait_for("\n64")
    assert "\nisig icanon iexten echo " in shell.text


def test_a_dashboard_in_the_background_ends_when_it_is_killed_and_leaves_the_terminal_alone(
    shell: Terminal,
) -> None:
    shell.type(b"\x1a")
    shell.wait_for("Stopped")
    painted = len(shell.raw)
    shell.type(b"kill %1\r")
    shell.read_for(2.0)
    shell.type(b"stty -a; echo $((7 * 7))\r")  # and the shell tells what became of its job
    shell.wait_for("\n49")
    assert "Exit 143" in shell.text
    assert "\nisig icanon iexten echo " in shell.text
    assert b"\x1b[?1049" not in shell.raw[painted:]


def test_the_shell_of_a_killed_dashboard_is_usable_at_once(shell: Terminal) -> None:
    shell.signal_foreground(signal.SIGKILL)
    shell.wait_for("Back to it: perftui")
    shell.read_for(1.0)
    shell.type(b"\x15echo $((6 * 7))\r")  # an answer to the dead may stand on the line
    shell.wait_for("\n42")
    assert shell.text.count("echo $((6 * 7))") == 1


def test_a_dashboard_that_was_stopped_by_force_comes_back_and_leaves_the_line_as_it_was(
    shell: Terminal,
) -> None:
    shell.signal_foreground(signal.SIGSTOP)
    shell.wait_for("Stopped")
    shell.read_for(0.5)  # what the dashboard has asked the terminal before is answered to the shell
    before = shell.raw.count(b"\x1b[?1049h")
    shell.type(b"\x15fg\r")
    shell.wait_until(lambda: shell.raw.count(b"\x1b[?1049h") > before, "the screen taken over anew")
    shell.wait_for("q detach")
    shell.read_for(0.5)
    shell.type(b"i")
    shell.wait_for("settings in force")
    shell.type(b"qq")
    shell.wait_until(lambda: shell.text.rstrip().endswith("ready>"), "the prompt")
    shell.type(b"stty -a; echo $((7 * 7))\r")
    shell.wait_for("\n49")
    assert "\nisig icanon iexten echo " in shell.text
