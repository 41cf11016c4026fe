"""Standard streams that were closed before the start, as by `nohup … <&-` and some supervisors."""

import os
import sys

_MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}


def open_closed_streams() -> None:
    """Put /dev/null where a standard stream is closed.

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
