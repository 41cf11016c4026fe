"""`perftui doctor`: is this place fit for a training, and for watching one? One line a check."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from perftui.ipc.errors import PerftuiError
from perftui.ipc.places import current_folder, runtime_root, state_root
from perftui.ipc.start_environment import start_environment
from perftui.trainer.launch.environment import clean_environment
from perftui.trainer.launch.host_facts import nvidia_gpu_names, open_files_limit, shared_memory_bytes
from perftui.trainer.launch.interpreter import InterpreterCheck, check_interpreter
from perftui.trainer.launch.terminal_check import terminal_checks
from perftui.trainer.launch.versions import version_checks
from perftui.trainer.telemetry.host import effective_cpus
from perftui.trainer.telemetry.py_spy import find_py_spy, why_unseen

State: TypeAlias = Literal["ok", "warn", "bad"]
_SHM_LOW_BYTES = 1 << 30
_FILES_LOW = 4096
_NVML_DEADLINE_S = 10.0
_NVML_QUESTION = """
import pynvml
pynvml.nvmlInit()
driver = pynvml.nvmlSystemGetDriverVersion()
for i in range(pynvml.nvmlDeviceGetCount()):
    h = pynvml.nvmlDeviceGetHandleByIndex(i)
    print(pynvml.nvmlDeviceGetName(h), round(pynvml.nvmlDeviceGetMemoryInfo(h).total / 2**30), "GiB", driver)
"""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    name: str
    state: State
    text: str
    advice: str | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `perftui doctor --json` prints."""

    schema: int = 1
    checks: list[Check]

    @property
    def exit_code(self) -> int:
        """1 when something is bad, else 0."""
        return int(any(check.state == "bad" for check in self.checks))


def examine(command: list[str]) -> Report:
    """Look at everything; `command` says whose Python is meant, empty for `python` on the path."""
    checks = [*_interpreter(command), *_devices(), *_host(), _worker_looks(), *_places()]
    for state, name, text, advice in terminal_checks(start_environment()):
        checks.append(Check(name=name, state=state, text=text, advice=advice))
    return Report(checks=checks)


def lines_of(report: Report) -> list[str]:
    """Return the report as aligned text."""
    width = max(len(check.name) for check in report.checks)
    lines: list[str] = []
    for check in report.checks:
        advice = f"  -> {check.advice}" if check.advice else ""
        lines.append(f"{check.state:<5}{check.name:<{width}}  {check.text}{advice}")
    return lines


def _interpreter(command: list[str]) -> Iterator[Check]:
    asked = command or [shutil.which("python") or shutil.which("python3") or sys.executable]
    try:
        check = check_interpreter(asked, current_folder(), clean_environment(dict(os.environ)))
    except PerftuiError as error:
        yield Check(name="python", state="bad", text=str(error))
        return
    if check.python is None:
        yield Check(name="python", state="warn", text=check.problem or "unknown")
        return
    version = ".".join(map(str, check.python))
    yield Check(name="python", state="ok", text=f"{version} at {check.path}, with what the probe needs")
    if check.blinded_by:
        text = f"{check.blinded_by} keeps perftui out of this Python"
        yield Check(name="python flags", state="warn", text=text, advice=f"leave {check.blinded_by} out")
    for state, name, text, advice in version_checks(check):
        yield Check(name=name, state=state, text=text, advice=advice)
    yield from _torch_device(check)


def _torch_device(check: InterpreterCheck) -> Iterator[Check]:
    if check.torch is not None and check.torch_cuda is None and nvidia_gpu_names():
        text = "there is an NVIDIA GPU, but this torch is a CPU build"
        yield Check(name="torch device", state="warn", text=text, advice="install torch with CUDA")


def _devices() -> Iterator[Check]:
    if _has_distribution("pynvml"):
        text = "the deprecated distribution pynvml may hide nvidia-ml-py (both bring a module pynvml)"
        pip = f"{sys.executable} -m pip"
        advice = f"{pip} uninstall pynvml && {pip} install --force-reinstall nvidia-ml-py"
        yield Check(name="nvml binding", state="warn", text=text, advice=advice)
    names = nvidia_gpu_names()
    answer, reason = _ask_nvml()
    if answer:
        yield Check(name="gpu", state="ok", text="; ".join(answer))
    elif names:
        yield Check(name="gpu", state="bad", text=f"{names[0]}, but NVML does not answer: {reason}")
    else:
        yield Check(name="gpu", state="ok", text=f"none here ({reason}); trainings run on the CPU")


def _has_distribution(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _ask_nvml() -> tuple[list[str], str]:
    """Ask in a child with a deadline: a call into a sick driver may never return."""
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _NVML_QUESTION],
            capture_output=True,
            text=True,
            timeout=_NVML_DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [], f"no answer within {_NVML_DEADLINE_S:.0f} s"
    except OSError as error:
        return [], error.strerror or str(error)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["NVML failed"])[-1]
        return [], last.rpartition(": ")[2]
    return done.stdout.strip().splitlines(), "NVML lists no GPU"


def _host() -> Iterator[Check]:
    cpus, listed = effective_cpus(), os.cpu_count() or 0
    text = f"{cpus:g} usable" + (f" of {listed} (affinity or a cgroup quota)" if cpus < listed else "")
    yield Check(name="cpus", state="warn" if cpus < 2 else "ok", text=text)
    shared = shared_memory_bytes()
    if shared is None:
        yield Check(name="/dev/shm", state="bad", text="missing", advice="loader workers need it; mount one")
    else:
        low = shared[0] < _SHM_LOW_BYTES
        advice = "start the container with --shm-size or --ipc=host" if low else None
        text = f"{shared[0] / 2**30:.1f} of {shared[1] / 2**30:.1f} GiB free"
        yield Check(name="/dev/shm", state="warn" if low else "ok", text=text, advice=advice)
    files = open_files_limit()
    low_files = 0 <= files < _FILES_LOW
    advice = "ulimit -n 65536, if many workers end in 'too many open files'" if low_files else None
    yield Check(name="open files", state="warn" if low_files else "ok", text=f"limit {files}", advice=advice)


def _worker_looks() -> Check:
    program, why = find_py_spy(), why_unseen()
    if why is None:
        return Check(name="py-spy", state="ok", text=f"{program} looks into loader workers")
    text, _, advice = why.rpartition(": ") if program is None else why.partition("; ")
    return Check(name="py-spy", state="warn", text=text, advice=advice)


def _places() -> Iterator[Check]:
    for name, place, variable in (
        ("sockets", runtime_root, "PERFTUI_RUNTIME_DIR"),
        ("state", state_root, "XDG_STATE_HOME"),
    ):
        try:
            folder = place()
        except (OSError, PerftuiError) as error:
            yield Check(name=name, state="bad", text=str(error), advice=f"set {variable}")
            continue
        writable = os.access(folder, os.W_OK)
        advice = None if writable else f"set {variable} to a folder of yours"
        yield Check(name=name, state="ok" if writable else "bad", text=str(folder), advice=advice)
