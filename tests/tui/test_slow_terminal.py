"""A terminal that reads slowly, or not at all: the newest state wins, keys are answered, signals too."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.tui import scenes
from tests.tui.pty_terminal import Terminal
from tests.tui.scripted_hub import ScriptedHub

SLOW = 1700
"""Bytes a second: a picture takes more than half of one."""


class Moving:
    """Lets a hub tell something else twenty times a second, as long as it is wanted."""

    def __init__(self, hub: ScriptedHub) -> None:
        self.hub = hub
        self.step = 412
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._move)
        self._thread.start()

    def _move(self) -> None:
        view = scenes.starved()
        while not self._ended.wait(0.05):
            self.step += 1
            header = msgspec.structs.replace(view.header, step=self.step, elapsed_s=self.step * 0.6)
            ranks = [msgspec.structs.replace(view.ranks[0], steps=self.step, now_ms=140.0 + self.step % 17)]
            line = f"epoch 1 step {self.step} loss {3.2 - self.step / 9000:.4f} " + "words " * (self.step % 9)
            new = [scenes.history(0, 1, self.step - 1)]
            self.hub.say(msgspec.structs.replace(view, header=header, ranks=ranks), new, [line])

    def end(self) -> int:
        """Stop; return the last step told."""
        self._ended.set()
        self._thread.join()
        return self.step


@pytest.fixture
def moving(places: Path) -> Iterator[Moving]:
    with ScriptedHub("demo-1", scenes.starved(), [scenes.history(0, 200)]) as hub:
        made = Moving(hub)
        yield made
        made.end()


def test_a_slow_terminal_has_the_newest_state_and_its_keys_answered(moving: Moving) -> None:
    terminal = Terminal(80, 24, answers=True)
    try:
        terminal.wait_for("input.workers")
        terminal.bytes_per_s = SLOW
        terminal.wait_for("one update in 1 s")
        before = len(terminal.raw)
        terminal.type(b"i")
        terminal.wait_for("settings in force")
        # what was under way, and the page that was asked for
        assert len(terminal.raw) - before < 9_000
        terminal.type(b"q")
        terminal.wait_for("q detach")
        last = moving.end()
        terminal.wait_for(f"step {last}")
        terminal.bytes_per_s = None
        terminal.type(b"q")
        assert terminal.wait_for_exit() == 0
        assert terminal.raw.rindex(b"\x1b[?1049l") > terminal.raw.rindex(b"\x1b[?1049h")
        assert b"Traceback" not in terminal.raw
    finally:
        terminal.close()


@pytest.mark.long
def test_a_slow_terminal_that_does_not_answer_is_never_further_behind_than_its_line(moving: Moving) -> None:
    terminal = Terminal(80, 24)
    try:
        terminal.wait_for("input.workers")
        terminal.bytes_per_s = SLOW
        terminal.read_for(10.0)
        last, before = moving.end(), len(terminal.raw)
        terminal.wait_for(f"step {last}")
        assert len(terminal.raw) - before < 16_000  # two pictures, and what a line holds
        terminal.type(b"q")
        assert terminal.wait_for_exit() == 0
    finally:
        terminal.close()


def test_a_quick_terminal_is_not_called_slow(moving: Moving) -> None:
    terminal = Terminal(80, 24, answers=True)
    try:
        terminal.wait_for("input.workers")
        terminal.read_for(3.0)
        terminal.type(b"q")
        assert terminal.wait_for_exit() == 0
        assert b"one update in" not in terminal.raw
        assert terminal.raw.count(b"\x1b[6n") > 10
    finally:
        terminal.close()


@pytest.mark.parametrize("answers", [True, False], ids=["answering", "mute"])
def test_a_terminal_that_reads_nothing_more_holds_up_neither_signals_nor_the_end(
    moving: Moving, answers: bool
) -> None:
    terminal = Terminal(120, 40, answers=answers)
    try:
        terminal.wait_for("input.workers")
        seen = len(terminal.raw)
        for number in range(60):  # each is a picture of the whole screen
            terminal.resize(120 - number % 2, 40)
            time.sleep(0.03)
        os.kill(terminal.process.pid, signal.SIGTERM)
        terminal.process.wait(timeout=20)
        assert terminal.process.returncode == 128 + signal.SIGTERM
        assert len(terminal.raw) == seen
        terminal.wait_for_bytes(b"\x1b[?1049l")
        assert b"was killed" not in terminal.raw
    finally:
        terminal.close()
