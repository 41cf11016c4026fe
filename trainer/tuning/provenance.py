"""Where a measurement comes from: the script's commit, and the versions that ran. Only asks; never raises."""

import importlib.metadata
import platform
import re
import subprocess
from pathlib import Path

_PATIENCE_S = 10.0
_HEAD_LOG_LINE = re.compile(r"HEAD@\{(\d+)\} ([0-9a-f]{40,64})")
_TORCH_VERSION = (
    "import importlib.metadata, platform\n"
    "print(platform.python_version())\n"
    "print(importlib.metadata.version('torch'))"
)


def commit_of(folder: Path) -> tuple[str | None, bool | None]:
    """Return the git commit of a folder, and whether tracked files differ from it; None where unknown."""
    commit = output_of(["git", "-C", str(folder), "rev-parse", "HEAD"])
    if not commit:
        return None, None
    changes = output_of(
        ["git", "--no-optional-locks", "-C", str(folder), "status", "--porcelain", "--untracked-files=no"]
    )
    return commit, None if changes is None else bool(changes)


def commit_then(folder: Path, unix: float) -> str | None:
    """Return the commit that a folder stood at at a time, by git's own log of HEAD.

    None without git, or when that log does not go back so far.
    """
    if not folder.is_dir():
        return None
    told = output_of(["git", "-C", str(folder), "log", "-g", "--date=unix", "--format=%gd %H", "HEAD"])
    return newest_before(told or "", unix)


def newest_before(head_log: str, unix: float) -> str | None:
    """Return the commit of the newest line that is not later than `unix`.

    Args:
        head_log: lines `HEAD@{seconds} commit`, newest first.
        unix: the time.
    """
    for line in head_log.splitlines():
        found = _HEAD_LOG_LINE.fullmatch(line.strip())
        if found and int(found[1]) <= unix:
            return found[2]
    return None


def versions_of(interpreter: str | None) -> dict[str, str]:
    """Return versions of perftui and, where the training's interpreter tells, of its Python and torch."""
    versions = {"perftui": importlib.metadata.version("perftui"), "kernel": platform.release()}
    told = output_of([interpreter, "-c", _TORCH_VERSION]) if interpreter else None
    lines = told.splitlines() if told else []
    return {**versions, **dict(zip(("python", "torch"), lines, strict=False))}


def output_of(command: list[str]) -> str | None:
    """Return what a command printed; None when there is no such command, it failed, or it hangs."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
