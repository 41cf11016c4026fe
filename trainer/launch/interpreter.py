"""Asks the command's own Python, in one short subprocess and without importing torch, what it has.

The probe runs inside the user's interpreter, so its one dependency must be there; better one line before the
launch than a training that nobody sees.
"""

import json
import re
import subprocess
import typing
from dataclasses import dataclass
from pathlib import Path

from perftui.ipc.errors import Refused
from perftui.ipc.run_variables import OFF
from perftui.trainer.launch.command_line import find_interpreter

OLDEST_PYTHON = (3, 10)
_DEADLINE_S = 20.0
"""Long, for interpreters on slow network file systems; usually it takes under a tenth of a second."""
_NEEDED = {"msgspec": "msgspec>=0.19"}

_QUESTION = r"""
import importlib.metadata as m, importlib.util as u, json, os, re, sys
def version(name):
    try:
        return m.version(name)
    except m.PackageNotFoundError:
        return None
def needs_torch():
    try:
        found = [r for r in m.requires("torchvision") or [] if re.match(r"torch\b(?!vision)", r)]
        return found[0] if found else None
    except m.PackageNotFoundError:
        return None
def has(name):
    try:
        return u.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
def torch_facts():
    try:
        spec = u.find_spec("torch")
        with open(os.path.join(os.path.dirname(spec.origin), "version.py")) as f:
            text = f.read()
    except (ImportError, ValueError, AttributeError, TypeError, OSError):
        return None, None
    def value(name):
        found = re.search(r"^%s\b[^=\n]*=\s*['\"]([^'\"]+)['\"]" % name, text, re.M)
        return found.group(1) if found else None
    return value("__version__"), value("cuda")
torch, cuda = torch_facts()
print(json.dumps({
    "python": list(sys.version_info[:3]), "msgspec": has("msgspec"),
    "torch": torch or version("torch"), "cuda": cuda, "torchvision": version("torchvision"),
    "torchvision_needs": needs_torch()}))
"""


@dataclass(frozen=True)
class InterpreterCheck:
    """What the command's own Python said of itself; fields are None where it could not be asked."""

    path: str | None = None
    python: tuple[int, ...] | None = None
    torch: str | None = None
    torch_cuda: str | None = None
    """CUDA version that torch was built for; None for a CPU build."""
    torchvision: str | None = None
    torchvision_needs: str | None = None
    """The torch that this torchvision asks for, as its metadata words it."""
    blinded_by: str | None = None
    """What of the command keeps the probe out."""
    problem: str | None = None
    """Why it could not be asked."""

    @property
    def can_tear_down_cupti(self) -> bool:
        """Whether CUPTI may be detached after a window: known safe with CUDA graphs from CUDA 12.6 on."""
        found = re.match(r"(\d+)\.(\d+)", self.torch_cuda or "")
        return found is not None and (int(found[1]), int(found[2])) >= (12, 6)


def check_interpreter(command: list[str], cwd: Path, environment: dict[str, str]) -> InterpreterCheck:
    """Find the command's Python and ask it.

    Raises:
        UsageError: no command.
        CommandNotFound: the command does not exist.
        Refused: that Python is too old, or lacks what the probe needs; the message has the pip command. Never
            said of a program's own Python that has no torch: the training runs in another one.
    """
    interpreter = find_interpreter(command, cwd, environment.get("PATH"))
    if interpreter is None:
        return InterpreterCheck(problem="not a Python program as far as perftui can see")
    answer = ask_interpreter(interpreter.path, cwd, environment)
    if isinstance(answer, str):
        return InterpreterCheck(path=interpreter.path, blinded_by=interpreter.blinded_by, problem=answer)
    if interpreter.script is not None and answer["torch"] is None:
        return InterpreterCheck(
            problem=f"{interpreter.script} runs in a Python without torch; what it starts is not known before"
        )
    python: tuple[int, ...] = tuple(answer["python"])
    _require(interpreter.path, python, [name for name in _NEEDED if not answer[name]])
    return InterpreterCheck(
        path=interpreter.path,
        python=python,
        torch=answer["torch"],
        torch_cuda=answer["cuda"],
        torchvision=answer["torchvision"],
        torchvision_needs=answer["torchvision_needs"],
        blinded_by=interpreter.blinded_by,
    )


def ask_interpreter(path: str, cwd: Path, environment: dict[str, str]) -> dict[str, typing.Any] | str:
    """Return what the interpreter says of itself, or why it could not be asked."""
    try:
        done = subprocess.run(
            [path, "-c", _QUESTION],
            cwd=cwd,
            env={**environment, OFF: "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{path} did not answer within {_DEADLINE_S:.0f} s"
    except OSError as error:
        return f"{path}: {error.strerror}"
    try:
        answer: dict[str, typing.Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"{path} could not be asked: {lines[-1] if lines else f'exit code {done.returncode}'}"
    return answer


def _require(path: str, python: tuple[int, ...], missing: list[str]) -> None:
    if python[:2] < OLDEST_PYTHON:
        version = ".".join(map(str, python))
        raise Refused(f"{path} is Python {version}; perftui sees trainings in Python 3.10 and newer")
    if missing:
        wanted = " ".join(f"'{_NEEDED[name]}'" for name in missing)
        raise Refused(
            f"{path} lacks {' and '.join(missing)}, which perftui needs inside the training; "
            f"install with: {path} -m pip install {wanted}"
        )
