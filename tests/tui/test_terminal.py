"""The dashboard in a real pseudo-terminal: it paints, it leaves the terminal as it was, it needs no torch."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from fcntl import ioctl
from pathlib import Path
from struct import pack

import pyte
import pytest

from tests.tui import scenes
from tests.tui.scripted_hub import ScriptedHub

RUN = "import sys; from perftui.tui.app import run_dashboard; sys.exit(run_dashboard('demo-1'))"


class Terminal:
    """A pseudo-terminal with a dashboard in it, and what has been painted on it."""

    def __init__(self, columns: int = 120, lines: int = 40, command: Sequence[str] = ("-c", RUN)) -> None:
        self.master, self.slave = pty.openpty()
        ioctl(self.slave, termios.TIOCSWINSZ, pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.raw = b""
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
        )

    def read(self, seconds: float) -> None:
        """Take in what comes within a time."""
        if select.select([self.master], [], [], seconds)[0]:
            data = os.read(self.master, 65536)
            self.raw += data
            self._stream.feed(data)

    def type(self, keys: bytes) -> None:
        """Type keys."""
        os.write(self.master, keys)

    def lines(self) -> list[str]:
        """Return what stands on the screen."""
        return [line.rstrip() for line in self._screen.display]

    def wipe(self) -> None:
        """Lose all that was painted, as a terminal does that another program has written to."""
        self._screen.erase_in_display(2)

    def wait_for(self, words: str) -> None:
        """Wait until words stand on the screen."""
        deadline = time.monotonic() + 30
        while words not in "\n".join(self._screen.display):
            assert time.monotonic() < deadline, "\n".join(self._screen.display)
            assert self.process.poll() is None, self.raw[-2000:]
            self.read(0.1)

    def wait_for_exit(self) -> int:
        """Wait for the process, taking in what it still paints."""
        deadline = time.monotonic() + 20
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "the dashboard did not end"
            self.read(0.05)
        with contextlib.suppress(OSError):
            while select.select([self.master], [], [], 0)[0]:
                self.read(0)
        return self.process.returncode

    def close(self) -> None:
        """Let go of both ends, and of the process if it is still there."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for end in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(end)


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
    deadline = time.monotonic() + 20
    while b"Back to it: perftui" not in terminal.raw:
        assert time.monotonic() < deadline, terminal.raw[-500:]
        terminal.read(0.1)
    end = terminal.raw[terminal.raw.rindex(b"\x1b[?1049h") :]
    on = set(re.findall(rb"\x1b\[\?(\d+)h", terminal.raw)) - {b"1049", b"7", b"25"}
    for mode in on | {b"1049"}:
        assert end.rindex(b"\x1b[?" + mode + b"l") > 0
    assert end.rindex(b"\x1b[?25h") > end.rindex(b"\x1b[?25l")


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


def test_the_dashboard_needs_neither_torch_nor_numpy_nor_the_trainer() -> None:
    check = (
        "import sys, perftui.tui.app, perftui.tui.picker\n"
        "foreign = ('torch', 'numpy', 'perftui.trainer')\n"
        "print([name for name in sys.modules if name.startswith(foreign)])"
    )
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
