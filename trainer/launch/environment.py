"""The environment of the training: how the probe gets in, the run's tag, and what a trial must not do.

Only additions: everything the user has set stays, and a user's own value wins where ours is a preference.
"""

import getpass
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import perftui.trainer
from perftui.ipc.places import RunPlaces
from perftui.ipc.run_variables import ARM, PYTHON, RUN_ID, RUN_RUNTIME, RUN_STATE, TRIAL
from perftui.ipc.settings import environment_of
from perftui.trainer.launch.interpreter import InterpreterCheck
from perftui.trainer.launch.spec import LaunchSpec

OURS = (
    RUN_ID,
    RUN_STATE,
    RUN_RUNTIME,
    "PERFTUI_ROOMS",
    PYTHON,
    TRIAL,
    ARM,
)
"""Taken out of what a keeper and a hub inherit: a run started inside another run is its own run."""


def rooms_folder() -> Path:
    """Return the folder that holds `trainer/`, `ipc/` and `tui/`."""
    return Path(next(iter(perftui.trainer.__path__))).resolve().parent


def inject_folder() -> Path:
    """Return the folder whose `sitecustomize.py` brings the probe in."""
    return rooms_folder() / "trainer" / "launch" / "inject"


def with_inject_folder(python_path: str | None) -> str:
    """Return PYTHONPATH with our folder first, once, and everything of the user's after it."""
    ours = str(inject_folder())
    if not python_path:
        return ours
    # an empty entry stands for the current folder: it stays
    return os.pathsep.join([ours, *(entry for entry in python_path.split(os.pathsep) if entry != ours)])


def clean_environment(environment: dict[str, str]) -> dict[str, str]:
    """Return an environment without any trace of a run or of `perftui env`."""
    cleaned = {name: value for name, value in environment.items() if name not in OURS}
    ours = str(inject_folder())
    python_path = cleaned.get("PYTHONPATH")
    if python_path is not None and ours in python_path.split(os.pathsep):
        kept = [entry for entry in python_path.split(os.pathsep) if entry != ours]
        cleaned.pop("PYTHONPATH")
        if kept:
            cleaned["PYTHONPATH"] = os.pathsep.join(kept)
    return cleaned


def training_additions(
    places: RunPlaces, spec: LaunchSpec, check: InterpreterCheck, environment: dict[str, str]
) -> dict[str, str]:
    """Return the variables to set on top of `environment` for the processes of one training."""
    added = {
        RUN_ID: places.run_id,
        RUN_STATE: str(places.state),
        RUN_RUNTIME: str(places.runtime),
        **_common(environment),
    }
    if check.can_tear_down_cupti:
        # else CUPTI stays attached after a profiling window, and a launch-bound job stays slower for ever
        added["TEARDOWN_CUPTI"] = environment.get("TEARDOWN_CUPTI", "1")
    if spec.stdio != "pty":
        added["PYTHONUNBUFFERED"] = environment.get("PYTHONUNBUFFERED") or "1"
    if spec.trial:
        added.update(_of_trial(places, environment))
    return {**added, **environment_of(spec.settings), **spec.env}


def _common(environment: dict[str, str]) -> dict[str, str]:
    return {
        "PYTHONPATH": with_inject_folder(environment.get("PYTHONPATH")),
        "PERFTUI_ROOMS": str(rooms_folder()),
        PYTHON: sys.executable,
        # kineto writes two lines into the user's output for every window at its default level
        "KINETO_LOG_LEVEL": environment.get("KINETO_LOG_LEVEL", "6"),
    }


def _of_trial(places: RunPlaces, environment: dict[str, str]) -> dict[str, str]:
    scratch = places.scratch
    return {
        # a TMPDIR of its own: multiprocessing's sockets must stay reachable even where the script's folder,
        # whose files are protected, is the system's temporary directory; it goes with the trial
        "TMPDIR": str(places.temporary),
        # which would lie in TMPDIR: a trial must not compile anew what is compiled already
        "TORCHINDUCTOR_CACHE_DIR": environment.get("TORCHINDUCTOR_CACHE_DIR", _inductor_cache()),
        TRIAL: "1",
        # a profiling window would be measured as part of the trial
        "PERFTUI_PROFILE": "",
        "WANDB_MODE": "offline",
        "WANDB_DIR": str(scratch),
        "NEPTUNE_MODE": "offline",
        "CLEARML_OFFLINE_MODE": "1",
        "COMET_START_ONLINE": "0",
        "COMET_OFFLINE_DIRECTORY": str(scratch),
        "MLFLOW_TRACKING_URI": (scratch / "mlruns").as_uri(),
        "SWANLAB_MODE": "offline",
    }


def _inductor_cache() -> str:
    """Return the folder that torch takes when nothing else is said."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # nobody knows this user, as in containers
        user = f"uid_{os.getuid()}"
    return str(Path(tempfile.gettempdir()) / ("torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", user)))


def exports(environment: dict[str, str]) -> list[str]:
    """Return the lines of `perftui env`: they arm any later start of a training in that shell."""
    names = {**_common(environment), ARM: "1"}
    return [f"export {name}={shlex.quote(value)}" for name, value in names.items()]
