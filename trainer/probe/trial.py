"""A trial harms nobody and can be repeated: files go to scratch, trackers are offline, seeds are set.

Standard library alone: `before_script` runs at the start of every Python process of a trial.
"""

import json
import os
import random
import sys
from pathlib import Path
from types import ModuleType

from perftui.ipc.run_variables import RUN_RUNTIME, RUN_STATE
from perftui.trainer.probe.after_import import after_import
from perftui.trainer.probe.applied import Applied, read_applied
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.overlay import Overlay
from perftui.trainer.probe.overlay_native import patch_safetensors, patch_torch
from perftui.trainer.probe.overlay_patches import patch_files
from perftui.trainer.probe.temporary_entries import there_before
from perftui.trainer.probe.trackers import STAYS, held_off

_OFFLINE = {
    "WANDB_MODE": "offline",
    "NEPTUNE_MODE": "offline",
    "CLEARML_OFFLINE_MODE": "1",
    "COMET_START_ONLINE": "0",
    "SWANLAB_MODE": "offline",
}
_CACHES = (
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "TORCH_HOME",
    "HF_HOME",
    "XDG_CACHE_HOME",
    "NUMBA_CACHE_DIR",
)
_HOME_CACHES = (".cache", ".triton", ".nv", ".torch")
_TEMPORARY = ("TEMP", "TMP")
"""TMPDIR is the trial's own."""

_active: list[Overlay] = []


def take_written() -> list[str]:
    """Return the user's paths that this process wrote to scratch instead, since the last call."""
    taken: list[str] = []
    for overlay in _active:
        written, overlay.written = overlay.written, {}
        taken.extend(written)
    return taken


def before_script() -> None:
    """Protect the user's files, set trackers offline and seed `random`; then wait for NumPy and others.

    Raises:
        ValueError: the trial has no scratch folder.
        OSError: it cannot be made.
    """
    applied = read_applied(os.environ.get(RUN_STATE))
    if not applied.scratch:
        raise ValueError("settings.json names no scratch folder")
    roots = _temporary_roots()
    overlay = Overlay(applied.scratch, _protected(), _caches(), _own())
    overlay.spare(roots, there_before(applied.scratch, roots))
    _active.append(overlay)
    patch_files(overlay)
    _set_offline(applied.scratch)
    if applied.seed is not None:
        random.seed(_rank_seed(applied.seed))
    after_import(
        {
            "numpy": lambda numpy: _seed_numpy(numpy, applied.seed),
            "safetensors": lambda safetensors: patch_safetensors(safetensors, overlay),
            **held_off(_mlflow_uri(applied.scratch)),
        }
    )


def after_torch(applied: Applied) -> None:
    """Seed torch, and send what its own code writes to scratch as well."""
    import torch

    foreign: Foreign = torch
    if applied.seed is not None:
        foreign.manual_seed(_rank_seed(applied.seed))
    for overlay in _active:
        patch_torch(foreign, overlay)


def _seed_numpy(numpy: ModuleType, seed: int | None) -> None:
    if seed is not None:
        numpy.random.seed(_rank_seed(seed))


def _rank_seed(seed: int) -> int:
    rank = os.environ.get("RANK", "0")
    return seed + (int(rank) if rank.isdigit() else 0)


def _protected() -> tuple[str, ...]:
    """Return the folders that are the user's even when they lie among temporary files.

    His working folder, the script's, and what the command names: `--out /tmp/run1`.
    """
    cwd, command = str(Path.cwd()), sys.orig_argv
    state = os.environ.get(RUN_STATE)
    given: list[str] = []
    if state:
        try:
            run = json.loads(Path(state, "run.json").read_bytes())
            given, command = [str(run["cwd"])], [*map(str, run["command"]), *command]
        except (OSError, ValueError, LookupError):  # not written yet: what this process knows will do
            given = []
    scripts = [str(Path(argument).parent) for argument in command[1:] if argument.endswith(".py")]
    values = [argument.partition("=")[2] or argument for argument in command[1:]]
    return (cwd, *given, *scripts, *(value for value in values if value.startswith("/")))


def _caches() -> tuple[str, ...]:
    home = os.path.expanduser("~")  # noqa: PTH111 (which ends a trial whose user nobody knows)
    named = [os.environ[name] for name in (*_CACHES, "TMPDIR") if os.environ.get(name)]
    return (*named, *(f"{home}/{name}" for name in _HOME_CACHES))


def _temporary_roots() -> tuple[str, ...]:
    named = [os.environ[name] for name in _TEMPORARY if os.environ.get(name)]
    return tuple(dict.fromkeys(os.path.realpath(root) for root in (*named, "/tmp", "/var/tmp")))


def _own() -> tuple[str, ...]:
    """Return the run's runtime folder: the trial's own TMPDIR lies there."""
    runtime = os.environ.get(RUN_RUNTIME)
    return (runtime,) if runtime else ()


def _set_offline(scratch: str) -> None:
    for name, value in _OFFLINE.items():
        if os.environ.get(name) not in STAYS:
            os.environ[name] = value
    os.environ["MLFLOW_TRACKING_URI"] = _mlflow_uri(scratch)


def _mlflow_uri(scratch: str) -> str:
    return f"file://{scratch}/mlruns"
