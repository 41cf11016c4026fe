"""What a terminal is sent for the clipboard (OSC 52), also through tmux and GNU screen. Pure.

A multiplexer keeps what a program sends to itself. tmux takes OSC 52 where `set-clipboard on` is set, and
hands on what is wrapped for it where `allow-passthrough on` is set: it is sent both, and needs one. GNU
screen hands on device control strings, of some hundred bytes each.
"""

import base64
from collections.abc import Iterator, Mapping

_ESC, _BEL, _END = "\x1b", "\x07", "\x1b\\"
_SCREEN_CHUNK = 500
"""Characters: screen keeps strings of 768 bytes at most, their envelope included."""


def clipboard_sequences(text: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what to write to the terminal so that it puts a text on its clipboard."""
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
