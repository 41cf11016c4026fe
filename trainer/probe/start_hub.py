"""A run that no launcher made: the first rank of a job on this host starts its hub, the others join it.

Used after `perftui env` and by `watch()`. Under a file lock in the runtime directory.
"""

import fcntl
import hashlib
import multiprocessing
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from perftui.ipc.errors import PerftuiError, UsageError
from perftui.ipc.hub_lock import hub_lock_is_held
from perftui.ipc.owned_files import opener
from perftui.ipc.pid_space import own_pid_space
from perftui.ipc.places import RunPlaces, make_run_places, run_places, runtime_root
from perftui.ipc.profile_schedule import ProfileSchedule, schedule_in
from perftui.ipc.run_files import HostsPlan, RunDescription, read_record, write_record
from perftui.ipc.run_variables import ARM, OFF, PYTHON, RUN_ID, TRIAL
from perftui.trainer.launch.host_plan import HostsWish, planned
from perftui.trainer.probe.identity import command, from_environment

_YOUNG_S = 15.0
"""A hub that was started so recently is alive, though it may not hold its lock yet."""
_DETACH = "import os, sys\nos.fork() and os._exit(0)\nos.setsid()\nos.execv(sys.argv[1], sys.argv[1:])\n"
"""Run by a fresh interpreter: forking twice there leaves no zombie, and no fork in a process with CUDA."""

_JOB_NAMES = (
    ("SLURM_JOB_ID", "SLURM_STEP_ID"),
    ("PMIX_NAMESPACE", ""),
    ("OMPI_MCA_ess_base_jobid", ""),
)
"""Variables by which launchers that start each rank by itself name the job, and its part."""


class ArmedJob(msgspec.Struct, frozen=True, kw_only=True):
    """Which run a job got."""

    run_id: str
    started_s: float
    """By the monotonic clock."""


def job_key() -> str:
    """Return what the ranks of one job on this host have in common."""
    environment = os.environ
    elastic = environment.get("TORCHELASTIC_RUN_ID")
    if elastic:
        return f"{elastic}-{environment.get('MASTER_PORT', '')}"
    if from_environment(environment).world_size > 1:
        for name, part in _JOB_NAMES:
            if environment.get(name):
                return f"{name}-{environment[name]}-{environment.get(part, '')}"
    parent = multiprocessing.parent_process()
    return f"pid-{os.getpid() if parent is None else parent.pid}"


@contextmanager
def _locked(path: Path) -> Generator[None, None, None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def join_or_start() -> RunPlaces:
    """Return the run of this job, with a hub that lives or is about to.

    Raises:
        Refused: the runtime directory is not this user's.
        OSError: the folders or the hub cannot be made.
    """
    root = runtime_root()
    key = hashlib.sha256(job_key().encode()).hexdigest()[:8]
    with _locked(root / "arm.lock"):
        job = read_record(root / f"job-{key}.json", ArmedJob)
        if job is not None and _alive(job):
            return run_places(job.run_id)
        _forget_ended(root)
        places = _new_run(key)
        _start(places)
        write_record(root / f"job-{key}.json", ArmedJob(run_id=places.run_id, started_s=time.monotonic()))
        return places


def _forget_ended(root: Path) -> None:
    for path in root.glob("job-*.json"):
        job = read_record(path, ArmedJob)
        if job is None or not _alive(job):
            path.unlink(missing_ok=True)


def _alive(job: ArmedJob) -> bool:
    if 0 <= time.monotonic() - job.started_s < _YOUNG_S:
        return run_places(job.run_id).runtime.is_dir()
    return hub_lock_is_held(run_places(job.run_id).hub_lock)


def _new_run(key: str) -> RunPlaces:
    arguments = command()
    name = Path(sys.argv[0]).stem if sys.argv and sys.argv[0] else "python"
    hosts, note = _hosts(arguments)
    places = make_run_places(f"{time.strftime('%Y%m%d-%H%M%S')}-{key}")
    write_record(
        places.description,
        RunDescription(
            run_id=places.run_id,
            name=name,
            command=arguments,
            cwd=_folder(),
            host=socket.gethostname(),
            started_unix=time.time(),
            started_monotonic_s=time.monotonic(),
            pid_space=own_pid_space(),
            owned=False,
            interpreter=sys.executable,
            profile_schedule=_schedule(),
            hosts=hosts,
            note=note,
        ),
    )
    return places


def _folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # somebody has removed it: the training goes on
        return os.environ.get("PWD", "/")


def _hosts(arguments: list[str]) -> tuple[HostsPlan | None, str | None]:
    """Return this host's place among several, where the environment names a key; and why not, if not."""
    try:
        launch = planned(HostsWish(), arguments, os.environ)
    except (PerftuiError, ImportError) as error:  # a training does not stop for that; it may have no pyzmq
        return None, f"no link to other hosts: {error}"
    return (None, None) if launch is None else (launch.plan, None)


def _schedule() -> ProfileSchedule | None:
    try:
        return schedule_in(os.environ)
    except UsageError:  # a training does not stop for a misspelt wish
        return None


def _start(places: RunPlaces) -> None:
    python = os.environ.get(PYTHON) or sys.executable
    with open(places.state / "hub.log", "ab", opener=opener) as log:
        subprocess.run(
            [python, "-c", _DETACH, python, "-m", "perftui.trainer.hub", places.run_id],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=places.state,
            env=_hub_environment(),
            check=True,
        )


def _hub_environment() -> dict[str, str]:
    environment = dict(os.environ)
    environment[OFF] = "1"
    for name in (ARM, RUN_ID, TRIAL, "PERFTUI_PROFILE"):
        environment.pop(name, None)
    paths = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    kept = [path for path in paths if Path(path).parts[-3:] != ("trainer", "launch", "inject")]
    if kept:
        environment["PYTHONPATH"] = os.pathsep.join(kept)
    else:
        environment.pop("PYTHONPATH", None)
    return environment
