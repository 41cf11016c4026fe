"""Reads a user's command: which Python will run it, and with which flags that matter to us.

Apart from asking that interpreter (`interpreter.py`), because this needs no subprocess.
"""

import os
import re
import shlex
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from perftui.ipc.errors import CommandNotFound, UsageError
from perftui.ipc.python_name import is_python
from perftui.trainer.launch.wrappers import hides_probe, unwrapped

_EXEC_LINE = re.compile(r"^'''exec'\s+(.+?)\s+\"\$0\"", re.MULTILINE)
_STARTS_ANOTHER = frozenset({"conda", "hatch", "mamba", "nox", "pdm", "pipenv", "pipx", "poetry", "tox"})
"""Written in Python themselves, and what they run has the Python of a project or an environment."""
_FLAGS_WITH_VALUE = frozenset("WXcm")
_BLINDING = {"I": "-I", "E": "-E", "S": "-S"}


@dataclass(frozen=True)
class Interpreter:
    """The Python that a command will run in."""

    path: str
    blinded_by: str | None = None
    """What keeps the probe out: -I and -E ignore PYTHONPATH, -S sitecustomize, and `env` may take it away."""
    script: str | None = None
    """The program whose first line names it, as torchrun's does; it may well start another Python."""


def find_program(name: str, cwd: Path, search_path: str | None) -> str:
    """Return the absolute path of a program as the system would find it.

    Raises:
        CommandNotFound: no such program, or a file that cannot be run.
    """
    if "/" not in name:
        found = shutil.which(name, path=search_path)
        if found is None:
            raise CommandNotFound(f"{name}: command not found{_as_script(name)}")
        return os.path.abspath(found)  # noqa: PTH100 (resolving links would leave a virtual environment)
    path = cwd / name
    if not path.exists():
        raise CommandNotFound(f"{name}: no such file")
    if path.is_dir() or not os.access(path, os.X_OK):
        how = _as_script(name) or "; name what runs it as well, as in: perftui run -- bash train.sh"
        raise CommandNotFound(f"{name}: not a program that can be run{how}")
    return str(path)


def _as_script(name: str) -> str:
    """Return how a script of Python is started, where the name is that of one."""
    if not name.endswith(".py"):
        return ""
    return f"; a script is started by its Python: perftui run -- python {name}"


def find_interpreter(command: list[str], cwd: Path, search_path: str | None) -> Interpreter | None:
    """Return the Python that will run `command`; None when it is not a Python program as far as we see.

    Raises:
        UsageError: the command is empty.
        CommandNotFound: its program does not exist.
    """
    if not command or not command[0]:
        raise UsageError("no command to run; write it after --, as in: perftui run -- python train.py")
    program = find_program(command[0], cwd, search_path)
    wrapped = unwrapped(command)
    if wrapped is not None:
        found = find_interpreter(wrapped, cwd, search_path) if wrapped else None
        return None if found is None else replace(found, blinded_by=found.blinded_by or hides_probe(command))
    name = Path(command[0]).name
    if name in _STARTS_ANOTHER:
        return None
    if is_python(name):
        another = _module_run(command[1:]) in _STARTS_ANOTHER
        return None if another else Interpreter(program, _blinding_flag(command[1:]))
    found = _of_script(Path(program), cwd, search_path)
    return None if found is None else replace(found, script=name)


def require_script(command: list[str], cwd: Path) -> None:
    """Refuse a command whose script is not there, before a dashboard opens on Python's complaint alone.

    Raises:
        CommandNotFound: Python is to run a file that does not exist.
    """
    wrapped = unwrapped(command) if command else None
    if wrapped:
        require_script(wrapped, cwd)
        return
    words = iter(command[1:] if command and is_python(command[0]) else ())
    for word in words:
        if not word.startswith("-"):
            if word.endswith(".py") and not (cwd / word).exists():
                raise CommandNotFound(f"{word}: no such file in {cwd}")
            return
        if word[1:2] in ("m", "c") or word == "-":
            return
        if word in ("-W", "-X"):
            next(words, None)


def _blinding_flag(arguments: list[str]) -> str | None:
    for word in arguments:
        if not word.startswith("-") or word in ("-", "--") or word.startswith("--"):
            return None
        for letter in word[1:]:
            if letter in _BLINDING:
                return _BLINDING[letter]
            if letter in _FLAGS_WITH_VALUE:
                return None
    return None


def _module_run(arguments: list[str]) -> str | None:
    """Return the module that `-m` names; None where a script or code is run."""
    words = iter(arguments)
    for word in words:
        if not word.startswith("-") or word.startswith("--") or word == "-":
            return None
        for at, letter in enumerate(word[1:], 2):
            if letter == "c":
                return None
            if letter in _FLAGS_WITH_VALUE:
                value = word[at:] or next(words, None)
                if letter == "m":
                    return value
                break
    return None


def _of_script(program: Path, cwd: Path, search_path: str | None) -> Interpreter | None:
    """Read the first lines of a console script such as torchrun."""
    try:
        with program.open("rb") as stream:
            head = stream.read(1024)
    except OSError:
        return None
    if not head.startswith(b"#!"):
        return None
    text = head.decode("utf-8", "replace")
    words = _split(text.splitlines()[0][2:].strip())
    # installers write a shell line in place of a path that is too long, or has blanks, for the kernel
    long_path = _EXEC_LINE.search(text)
    if long_path is not None and words and Path(words[0]).name == "sh":
        words = _split(long_path[1])
    if not words or words[0] == str(program):
        return None
    try:
        return find_interpreter(words, cwd, search_path) if _is_python(words) else None
    except CommandNotFound:
        raise CommandNotFound(f"{program}: its interpreter {words[0]} does not exist") from None


def _is_python(words: list[str]) -> bool:
    return any(is_python(word) for word in words[:3])


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
