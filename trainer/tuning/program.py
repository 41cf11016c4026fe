"""Which program a command starts, as one word: launches of two programs are no comparison of two settings.

Only asks; never raises. What it does not see: modules in other folders that git does not track.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from perftui.ipc.search_records import SearchPlan, Sitting
from perftui.trainer.tuning.provenance import commit_of, output_of

_READ_WHOLE_BYTES = 4 * 1024 * 1024
_MOST_FILES = 500
_CODE = ("py", "pyx", "c", "cc", "cpp", "cu", "cuh", "h", "sh", "toml", "yaml", "yml", "json", "cfg", "ini")
"""Endings of what alters a program: logs and notebooks that git tracks change beside it."""
_DEVICES = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
)


def with_program(sitting: Sitting, plan: SearchPlan) -> Sitting:
    """Return a sitting that says which program is there now; the versions are those that it has."""
    cwd = Path(plan.cwd)
    commit, dirty = commit_of(cwd)
    return msgspec.structs.replace(
        sitting,
        commit=commit,
        dirty=dirty,
        code=code_of(plan.command, cwd, plan.interpreter),
        devices=visible_devices(os.environ),
    )


def code_of(command: Sequence[str], cwd: Path, interpreter: str | None) -> str:
    """Return a hash of the code that a command runs: another word, another program.

    Of the files that the command names, the Python files beside its scripts, what of code and configuration
    differs from git's commit, and the interpreter.
    """
    words = [part for word in command for part in (word, word.partition("=")[2]) if part]
    named = [each for each in (cwd / word for word in words) if _is_file(each)]
    folders = {each.parent for each in named if each.suffix == ".py"} or {cwd}
    beside = [each for folder in sorted(folders) for each in _python_files(folder)]
    only = [f":(top)*.{ending}" for ending in _CODE]
    difference = output_of(
        ["git", "-C", str(cwd), "diff", "--no-ext-diff", "--no-textconv", "--full-index", "HEAD", "--", *only]
    )
    digest = hashlib.sha256()
    for part in (interpreter or "", difference or "", *_contents(dict.fromkeys([*named, *beside]))):
        digest.update(part.encode(errors="surrogateescape") if isinstance(part, str) else part)
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def visible_devices(environ: Mapping[str, str]) -> str:
    """Return which GPUs the environment lets a training see, as it says so; empty: it does not say."""
    return " ".join(f"{name}={environ[name]}" for name in _DEVICES if name in environ)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a word that is far too long, or has a NUL
        return False


def _python_files(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.py"))[:_MOST_FILES]
    except OSError:
        return []


def _contents(paths: Iterable[Path]) -> Iterable[str | bytes]:
    """Yield name and content of each file; of a large one its size and when it was written."""
    for path in paths:
        yield os.fspath(path)
        try:
            told = path.stat()
            large = told.st_size > _READ_WHOLE_BYTES
            yield f"{told.st_size} {told.st_mtime_ns}" if large else path.read_bytes()
        except OSError:
            yield "unreadable"
