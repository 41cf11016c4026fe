"""What a terminal is sent for the clipboard (OSC 52), also through tmux and GNU screen.

A multiplexer keeps what a program sends to itself. tmux hands on a buffer that it is given for the clipboard,
unless `set-clipboard off` is set; it takes OSC 52 where that is `on`, and hands on what is wrapped for it
where `allow-passthrough on` is set. It is given all three, and one is enough. GNU screen hands on device
control strings, of some hundred bytes each.
"""

import base64
import contextlib
import subprocess
from collections.abc import Iterator, Mapping

_ESC, _BEL, _END = "\x1b", "\x07", "\x1b\\"
_TMUX_S = 2.0
_SCREEN_CHUNK = 500
"""Characters: screen keeps strings of 768 bytes at most, their envelope included."""


def hand_to_tmux(text: str) -> None:
    """Give tmux a text for the clipboard of whoever is attached; one before 3.2 declines, and so it is."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            ["tmux", "load-buffer", "-w", "-"],
            input=text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TMUX_S,
            check=False,
        )


def clipboard_sequences(text: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what to write to the terminal so that it puts a text on its clipboard. Pure."""
    encoded = base64.b64encode(text.encode()).decode()
    plain = f"{_ESC}]52;c;{encoded}{_BEL}"
    if environ.get("TMUX"):
        yield plain
        yield f"{_ESC}Ptmux;{plain.replace(_ESC, _ESC * 2)}{_END}"
    elif environ.get("STY"):
        for begin in range(0, len(plain), _SCREEN_CHUNK):
            yield f"{_ESC}P{plain[begin : begin + _SCREEN_CHUNK]}{_END}"
    else:
        yield plain
