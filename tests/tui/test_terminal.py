"""The dashboard in a real pseudo-terminal: it paints, it leaves the terminal as it was, it needs no torch."""

import os
import pty
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from perftui.tui.picker import PickerApp
from perftui.tui.search_app import SearchApp
from perftui.tui.terminal_app import TerminalApp
from perftui.tui.trace_app import TraceApp
from tests.tui import scenes
from tests.tui.pty_terminal import RUN, Terminal
from tests.tui.scripted_hub import ScriptedHub
from tests.waiting import wait_until


@pytest.fixture
def terminal(places: Path) -> Iterator[Terminal]:
    """A dashboard on a hub that lives."""
    with ScriptedHub("demo-1", scenes.starved(), [scenes.history(0, 200)]):
        made = Terminal()
        yield made
        made.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_and_the_terminal_is_as_before(terminal: Terminal, number: signal.Signals) -> None:
    terminal.wait_for("input.workers")
    assert b"\x1b[?1049h" in terminal.raw
    os.kill(terminal.process.pid, number)
    assert terminal.wait_for_exit() == 128 + number
    end = terminal.raw[terminal.raw.rindex(b"\x1b[?1049h") :]
    assert b"\x1b[?1049l" in end
    assert end.rindex(b"\x1b[?25h") > end.rindex(b"\x1b[?25l")
    assert b"\x1b[?1003l" in end
    assert termios.tcgetattr(terminal.slave) == terminal.before
    assert b"Traceback" not in terminal.raw


def test_a_killed_dashboard_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.wait_for("input.workers")
    terminal.process.kill()
    terminal.process.wait()
    terminal.wait_for_bytes(b"Back to it: perftui")
    end = terminal.raw[terminal.raw.rindex(b"\x1b[?1049h") :]
    on = set(re.findall(rb"\x1b\[\?(\d+)h", terminal.raw)) - {b"1049", b"7", b"25"}
    for mode in on | {b"1049"}:
        assert end.rindex(b"\x1b[?" + mode + b"l") > 0
    assert end.rindex(b"\x1b[?25h") > end.rindex(b"\x1b[?25l")
    wait_until(lambda: termios.tcgetattr(terminal.slave) == terminal.before, "line mode and echo")


WHEN_KILLED = {
    "": "The dashboard was killed; the training goes on. Back to it: perftui",
    ", recorded=True": "perftui was killed. Back to it: the same command again",
}


@pytest.mark.parametrize("shown", WHEN_KILLED)
def test_what_is_left_of_a_killed_one_tells_of_a_training_only_where_one_goes_on(
    places: Path, shown: str
) -> None:
    with ScriptedHub("demo-1", scenes.starved()):
        terminal = Terminal(command=("-c", RUN.format(shown)))
        try:
            terminal.wait_for("input.workers")
            terminal.process.kill()
            terminal.process.wait()
            terminal.wait_for_bytes(f"\n{WHEN_KILLED[shown]}\r".encode())
            assert ("training goes on" in terminal.text) is (shown == "")
        finally:
            terminal.close()


@pytest.mark.parametrize("kind", [PickerApp, TraceApp, SearchApp])
def test_no_other_screen_speaks_of_a_training(kind: type[TerminalApp[object]]) -> None:
    assert kind.when_killed == "perftui was killed. Back to it: the same command again"


def test_q_detaches_with_code_0_and_prints_no_error(terminal: Terminal) -> None:
    terminal.wait_for("input.workers")
    os.write(terminal.master, b"q")
    assert terminal.wait_for_exit() == 0
    assert terminal.raw.rindex(b"\x1b[?1049l") > terminal.raw.rindex(b"\x1b[?1049h")
    assert b"Traceback" not in terminal.raw
    assert b"killed" not in terminal.raw


def test_a_closed_terminal_ends_the_process(terminal: Terminal) -> None:
    terminal.wait_for("input.workers")
    os.close(terminal.slave)
    os.close(terminal.master)
    terminal.process.wait(timeout=20)


CHECK = """
import sys
from perftui.ipc.errors import UsageError
from perftui.tui.terminal import require_terminal
try:
    require_terminal()
except UsageError as error:
    open(sys.argv[1], "w").write(str(error))
"""


def test_without_a_terminal_it_says_what_to_do(places: Path) -> None:
    said = places / "said"
    subprocess.run([sys.executable, "-c", CHECK, str(said)], capture_output=True, check=True)
    assert said.read_text().startswith("no terminal here")
    assert "perftui status RUN" in said.read_text()


def test_a_terminal_without_a_cursor_is_refused(places: Path) -> None:
    said, environment = places / "said", {**os.environ, "TERM": "dumb"}
    master, end = pty.openpty()
    command = [sys.executable, "-c", CHECK, str(said)]
    subprocess.run(command, stdin=end, stdout=end, stderr=end, env=environment, check=True)
    os.close(master)
    os.close(end)
    assert said.read_text().startswith("TERM=dumb cannot show the dashboard")


STDERR = """
import os, sys
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
from perftui.trainer.launch.terminal_check import no_dashboard_because
print(no_dashboard_because(dict(os.environ)))
"""


def test_a_dashboard_is_not_begun_where_what_it_is_painted_on_is_no_terminal(places: Path) -> None:
    terminal = Terminal(80, 24, ("-c", STDERR))
    try:
        assert terminal.wait_for_exit() == 0
        assert terminal.text.startswith("stderr, on which it is drawn, is not a terminal")
    finally:
        terminal.close()


def test_the_dashboard_needs_neither_torch_nor_numpy_nor_the_trainer() -> None:
    check = (
        "import sys, perftui.tui.app, perftui.tui.picker\n"
        "foreign = ('torch', 'numpy', 'perftui.trainer')\n"
        "print([name for name in sys.modules if name.startswith(foreign)])"
    )
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
