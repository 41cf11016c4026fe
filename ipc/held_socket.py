"""A connection in a process that is not ours (see `held_descriptor`), which never blocks."""

import contextlib
import select
import socket

from perftui.ipc.held_descriptor import DescriptorLost, held_stream, names


class HeldSocket:
    """A Unix stream connection.

    Args:
        path: of the socket that somebody listens on.

    Raises:
        OSError: nobody does, or there is no descriptor left.
    """

    def __init__(self, path: str) -> None:
        self._number = held_stream()
        self._names = names(self._number)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=self._number)
        self._socket.setblocking(False)
        try:
            self._ours().connect(path)
        except OSError:
            self.close()
            raise

    def _ours(self) -> socket.socket:
        if self._names is None or names(self._number) != self._names:
            raise DescriptorLost(f"descriptor {self._number} was closed by the process")
        return self._socket

    def send(self, data: memoryview) -> int:
        """Return how many bytes the system has taken; 0 when it takes none now.

        Raises:
            OSError: the connection is over.
        """
        try:
            # a script may have given SIGPIPE its default back, which would end it
            return self._ours().send(data, socket.MSG_NOSIGNAL)
        except BlockingIOError:
            return 0

    def receive(self, most: int) -> bytes | None:
        """Return what has come; nothing (`b""`) when the peer has closed, None when there is nothing yet.

        Raises:
            OSError: the connection is over.
        """
        try:
            return self._ours().recv(most)
        except BlockingIOError:
            return None

    def wait(self, timeout_ms: int, *, to_send: bool) -> None:
        """Sleep until something has come, or can be sent if that is asked, or the time is over."""
        poll = select.poll()
        poll.register(self._number, select.POLLIN | (select.POLLOUT if to_send else 0))
        poll.poll(timeout_ms)

    def close(self) -> None:
        """Close it; a number that names something else by now is left alone."""
        if self._names is not None and names(self._number) == self._names:
            with contextlib.suppress(OSError):
                self._socket.close()
        self._socket.detach()
        self._names = None
