"""Standard streams as they may be: closed before the start, full, or for a terminal without UTF-8."""

import codecs
import contextlib
import errno
import io
import os
import sys

from perftui.ipc.start_environment import start_environment
from perftui.ipc.terminal_kinds import takes_ascii_only

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Why a file, also one that is standard output, takes nothing more."""
_TWINS = "perftui-twins"
_MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}


def open_closed_streams() -> None:
    """Put /dev/null where a standard stream is closed, as by `nohup … <&-` and some supervisors.

    The next file that is opened would take its number, and be handed down to the training as its stdin; and
    Python has None in its place, which nothing can be asked.
    """
    for number, (name, mode) in enumerate(_MODES.items()):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest free number, which need not be this one
            os.dup2(opened, number)
            if opened == number:
                os.set_inheritable(number, True)
            else:
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - it is there to stay


def write_what_can_be_read() -> None:
    """Have what a stream cannot encode, or its terminal not show, replaced as on the dashboard, and not fail.

    In the C locale Python writes UTF-8 whatever the terminal shows.
    """
    codecs.register_error(_TWINS, _twins)
    ascii_only = takes_ascii_only(start_environment())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError):
                plain = ascii_only and stream.isatty()
                stream.reconfigure(encoding="ascii" if plain else None, errors=_TWINS)


def _twins(error: UnicodeError) -> tuple[str, int]:
    """Replace what cannot be encoded by ASCII of the same width."""
    from perftui.tui.glyphs import to_ascii

    if not isinstance(error, UnicodeEncodeError):
        raise error
    return to_ascii(error.object[error.start : error.end]), error.end


def leave_stdout() -> None:
    """Let what standard output does not take go nowhere, so that the end of the process does not complain."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
