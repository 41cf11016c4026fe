"""The one check of all bad days: the same losses and the same exit code with and without us.

A script prints its losses as hexadecimal floats and whatever else it is about; all of it must be the same.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .conftest import DEADLINE_S, PERFTUI, Desk

Meanwhile = Callable[["subprocess.Popen[str]"], object]
"""What is done while the training runs; given the process that was started."""


@dataclass(frozen=True)
class Ended:
    """How a training ended, as a shell has it."""

    code: int
    losses: str
    """Its standard output."""
    error: str


def ended(
    command: Sequence[str], folder: Path, meanwhile: Meanwhile | None = None, **environment: str
) -> Ended:
    """Run a command to its end; by a signal it ends with 128 and its number."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        if meanwhile is not None:
            meanwhile(process)
        out, error = process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()
        process.wait()
    return Ended(process.returncode if process.returncode >= 0 else 128 - process.returncode, out, error)


def assert_unharmed(
    desk: Desk,
    script: Path,
    *arguments: str,
    options: Sequence[str] = (),
    plainly: Meanwhile | None = None,
    meanwhile: Meanwhile | None = None,
    **environment: str,
) -> Ended:
    """Run a script without and with perftui, and compare; return how the one with perftui ended.

    Args:
        desk: where.
        script: a training.
        arguments: of the script.
        options: of `perftui run`.
        plainly: what is done meanwhile to the plain one.
        meanwhile: what is done meanwhile to the one with perftui.
        environment: more of it, for both.
    """
    command = [sys.executable, str(script), *arguments]
    plain = ended(command, desk.folder, plainly, **environment)
    assert plain.losses, plain.error
    run = [*PERFTUI, "run", "--no-tui", *options, "--", *command]
    ours = ended(run, desk.folder, meanwhile, **environment)
    assert (ours.code, ours.losses) == (plain.code, plain.losses), ours.error
    assert "Traceback" not in ours.error.replace(plain.error, "")
    return ours
