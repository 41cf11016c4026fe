"""The framework's driver for a terminal that may be slow, stopped, suspended or gone.

Round each picture the terminal is asked where its cursor is (DSR 6; every terminal since the VT100 answers).
An answer comes after all that was written before, whatever buffers lie between: it says that the picture is
there.
"""

import asyncio
import contextlib
import os
import signal
import termios
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from perftui.ipc.terminal_kinds import own_size
from perftui.tui.delivery import Delivery
from perftui.tui.terminal import terminal_hung_up
from perftui.tui.terminal_writer import TerminalWriter

if TYPE_CHECKING:
    from textual.app import App

_STDERR = 2
"""What the framework paints on."""
_ASK = "\x1b[6n"
_KEYS_AS_BEFORE = "\x1b[<u"
"""Ends what taking the terminal over begins anew: it is counted."""
_CLOSING_S = 2.0
_KILL_IS_HEARD_S = 0.1
"""What is stopped is sent SIGTERM and SIGCONT at once by `kill %1`; the event loop hears the first later."""
_STUCK = 131_072
"""Bytes: many pictures."""


class TerminalDriver(LinuxDriver):
    """Writes without ever waiting, and knows when a picture has come to the terminal."""

    def __init__(
        self,
        app: "App[object]",
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.delivery = Delivery()
        self.left_clean = True
        """Whether the terminal had taken everything when it was left."""
        self._writer: TerminalWriter | None = None
        self._taking = False
        self._taken_with: list[str] = []
        """What was written to take the terminal over: modes that it is in since."""
        self._line: list[Any] | None = None
        """Settings of its line since then."""

    @property
    def stuck(self) -> bool:
        """Whether so much waits that more would only be memory."""
        return self._writer is not None and self._writer.unsent > _STUCK

    def _get_terminal_size(self) -> tuple[int, int]:
        """Return the terminal's own columns and lines, not those that somebody exported."""
        return own_size(_STDERR) or super()._get_terminal_size()

    def write(self, data: str) -> None:
        """Hand text over, to be written soon."""
        if self._writer is not None:
            self._writer.write(data)
            if self._taking:
                self._taken_with.append(data)

    @contextlib.contextmanager
    def picture(self) -> Iterator[None]:
        """Have the picture that the body writes acknowledged."""
        if self.delivery.begin(time.monotonic()):
            self.write(_ASK)
        yield
        if self.delivery.sent(time.monotonic()):
            self.write(_ASK)

    def wait_s(self) -> float:
        """Return how long the next picture has to wait, in s; 0: it is due."""
        return self.delivery.wait_s(time.monotonic(), self._writer.free_s if self._writer else None)

    def process_message(self, message: Message) -> None:
        """Take answers out of what is typed."""
        if isinstance(message, events.CursorPosition):
            self.delivery.answered(time.monotonic())
        else:
            super().process_message(message)

    def start_application_mode(self) -> None:
        """Take the terminal over."""
        self.delivery = Delivery()
        if self._writer is None:
            self._writer = TerminalWriter(_STDERR)
        self._taken_with, self._taking = [], True
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._taking = False
        with contextlib.suppress(termios.error):
            self._line = termios.tcgetattr(self.fileno)

    def disable_input(self) -> None:
        """Read no more keys; a terminal that was given back is left alone, down to what is typed there."""
        if self._writer is not None:
            super().disable_input()

    def stop_application_mode(self) -> None:
        """Give the terminal back, once; pictures that it has not taken are left out."""
        if self._writer is None:
            return
        self._writer.forget()
        until = 0.0 if terminal_hung_up() else time.monotonic() + self.delivery.last_answer_s()
        while self.delivery.last_answer_s() and time.monotonic() < until:
            time.sleep(0.01)  # an answer that comes later would stand on the person's command line
        super().stop_application_mode()

    def close(self) -> None:
        """Write what is left, as far as the terminal takes it."""
        if self._writer is not None:
            self.left_clean = self._writer.close(_CLOSING_S)
            self._writer = None
        super().close()

    def _sigcont_application(self, *_: object) -> None:
        """Go on, also after a SIGSTOP, of which nothing was known before; in the background stop again."""
        if self._elsewhere():
            if self._writer is None:  # nothing is painted meanwhile
                asyncio.get_running_loop().call_later(_KILL_IS_HEARD_S, self._stop_elsewhere)
            else:
                self._stop_elsewhere()
        elif self._writer is None:
            super()._sigcont_application()
        else:
            self._take_over_again()

    def _elsewhere(self) -> bool:
        """Whether the terminal is somebody else's now: after `bg`, the shell's."""
        try:
            return os.tcgetpgrp(self.fileno) != os.getpgrp()
        except OSError:  # hung up, or not the terminal that controls this process
            return False

    def _stop_elsewhere(self) -> None:
        if self._app.return_code is None and self._elsewhere():
            os.kill(os.getpid(), signal.SIGSTOP)

    def _take_over_again(self) -> None:
        """Set line and modes as they were, which a shell has altered since, and have all painted.

        The thread that reads keys goes on: it may wait for a key that the shell has read in its place.
        """
        self.delivery = Delivery()  # what was asked before was answered to the shell
        if self._line is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self._line)
        self.write(_KEYS_AS_BEFORE + "".join(self._taken_with))
        self.send_message(self.SignalResume())
