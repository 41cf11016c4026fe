"""Programs that only start another one (`env`, `timeout`, `taskset`, …): what they start, and what they hide.

Apart from reading Python's own command line. A program that is not known here is no wrapper: then it is not
known before which Python the training runs in, and nothing is refused for it.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_EMPTIES = frozenset({"-i", "-", "--ignore-environment"})
_UNSETS = frozenset({"-u", "--unset"})
_SPLITS = frozenset({"-S", "--split-string"})
_PYTHON_PATH = "PYTHONPATH"


@dataclass(frozen=True)
class _Wrapper:
    """How a wrapper's own words are told from those of what it starts."""

    valued: frozenset[str] = frozenset()
    """Options that take a word of their own."""
    words: int = 0
    """How many words of its own follow the options."""


def _wrapper(valued: str = "", words: int = 0) -> _Wrapper:
    return _Wrapper(frozenset(valued.split()), words)


_WRAPPERS = {
    "chrt": _wrapper("-D -P -T --sched-deadline --sched-period --sched-runtime", 1),
    "env": _wrapper("-u -C --unset --chdir"),
    "flock": _wrapper("-E -w --conflict-exit-code --timeout --wait", 1),
    "ionice": _wrapper("-c -n --class --classdata"),
    "nice": _wrapper("-n --adjustment"),
    "nohup": _wrapper(),
    "numactl": _wrapper("-N -m -C -i -p --cpunodebind --membind --physcpubind --interleave --preferred"),
    "setsid": _wrapper(),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "taskset": _wrapper("", 1),
    "time": _wrapper("-f -o --format --output"),
    "timeout": _wrapper("-k -s --kill-after --signal", 1),
}


def unwrapped(command: list[str]) -> list[str] | None:
    """Return what a wrapper starts; None when the command is no wrapper, empty when that cannot be told."""
    name = Path(command[0]).name
    wrapper = _WRAPPERS.get(name)
    if wrapper is None:
        return None
    rest = command[1:]
    while rest and (rest[0].startswith("-") or (name == "env" and _ASSIGNMENT.fullmatch(rest[0]))):
        if rest[0] == "--":
            rest = rest[1:]
            break
        if name == "env" and rest[0] in _SPLITS:
            rest = [*_split(rest[1]), *rest[2:]] if len(rest) > 1 else []
        else:
            rest = rest[2:] if rest[0] in wrapper.valued else rest[1:]
    rest = rest[wrapper.words :]
    return [] if rest and rest[0].startswith("-") else rest


def hides_probe(command: list[str]) -> str | None:
    """Return the words by which an `env` takes away the PYTHONPATH that brings the probe in."""
    if Path(command[0]).name != "env":
        return None
    own = command[1 : len(command) - len(unwrapped(command) or [])]
    for word, following in zip(own, [*own[1:], ""], strict=False):
        if word in _EMPTIES:
            return f"env {word}"
        if word in _UNSETS and following == _PYTHON_PATH:
            return f"env {word} {_PYTHON_PATH}"
        if word in (f"-u{_PYTHON_PATH}", f"--unset={_PYTHON_PATH}"):
            return f"env {word}"
        if word.startswith(f"{_PYTHON_PATH}="):  # the user's shell has written into it what it knows itself
            return f"env {_PYTHON_PATH}=…"
    return None


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
