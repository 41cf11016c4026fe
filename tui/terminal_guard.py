"""Gives the terminal back when the dashboard is killed outright, and can no longer do so itself.

A tiny process of the system's shell waits at the end of a pipe: a word means that all ended well, a closed
pipe that the dashboard is gone. Line mode and echo are the person's own shell's to restore, and most do; if
the line is still as the dashboard had it a moment later, they are set as they were.
"""

import contextlib
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator

_GIVE_BACK = (
    "\\033[?1000l\\033[?1002l\\033[?1003l\\033[?1006l\\033[?1015l\\033[?1016l"  # mouse
    "\\033[?1004l\\033[?2004l\\033[?2048l\\033[?2026l\\033[<u\\033[?7h"  # focus, paste, size, keys, wrap
    "\\033[?1049l\\033[?25h\\033[0m"  # the screen as it was, and its cursor
)
_SCRIPT = """
trap '' HUP INT TERM
said=
read -r said
[ "$said" = well ] && exit
printf '%b' "$1" >&2
[ "$said" ] || printf '\\r\\n%s\\r\\n' "$2" >&2
sleep 0.3
case "$(stty -a <&2 2>/dev/null)" in
*-isig*-icanon*) stty "$3" <&2 2>/dev/null ;;
esac
"""


@contextlib.contextmanager
def guarded_terminal(left_clean: Callable[[], bool], when_killed: str) -> Iterator[None]:
    """Keep watch over the terminal on stderr while the body paints on it; without a shell, do nothing.

    Args:
        left_clean: whether the terminal has taken all that gives it back, asked after the body.
        when_killed: one line for the person, of what goes on and the way back.
    """
    try:
        guard = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "perftui", _GIVE_BACK, when_killed, line_settings(2)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=sys.__stderr__,
            start_new_session=True,  # not to be killed together with us
        )
    except OSError:
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if left_clean():
                guard.communicate(b"well\n")
            elif guard.stdin is not None:
                guard.stdin.write(b"unsent\n")  # it waits for the terminal longer than a person does
                guard.stdin.close()


def line_settings(fileno: int) -> str:
    """Return a terminal line's settings as `stty -g` prints them; "sane" where there are none."""
    try:
        flags = termios.tcgetattr(fileno)
    except termios.error:
        return "sane"
    controls = [each if isinstance(each, int) else each[0] for each in flags[6]]
    return ":".join(f"{each:x}" for each in (*flags[:4], *controls))
