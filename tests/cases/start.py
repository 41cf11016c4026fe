"""How a script is started: under a neutral name, in a folder of its own, by itself or by torchrun."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.cases.case import Case
from tests.processes import processes_below

NAME = "train.py"
_TAKEN_OUT = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_BUSY = """
import os
parent = os.getppid()
while os.getppid() == parent:
    sum(range(100_000))
"""
_BUSY_ON_GPU = """
import os, torch
rows = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(50):
        rows @ rows
    torch.cuda.synchronize()
"""


@contextmanager
def placed(text: str) -> Generator[Path, None, None]:
    """Give a folder with the script in it, under a name that says nothing of its cause."""
    with tempfile.TemporaryDirectory(prefix="case-") as name:
        folder = Path(name)
        (folder / NAME).write_text(text)
        yield folder


def command_of(case: Case) -> list[str]:
    """Return the user's command, to be run in the script's folder."""
    if case.ranks == 1:
        return [sys.executable, NAME]
    runner = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={case.ranks}"]
    return [sys.executable, *runner, NAME]


def within(case: Case, command: list[str]) -> list[str]:
    """Return the command inside the surroundings that the case asks for."""
    if case.shm_mib is None:
        return command
    mount = f'mount -t tmpfs -o size={case.shm_mib}m none /dev/shm && exec "$@"'
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", *command]


def environment() -> dict[str, str]:
    """Return the environment without what a developer's shell may say about threads."""
    return {name: value for name, value in os.environ.items() if name not in _TAKEN_OUT}


@contextmanager
def neighbours(cores: int, *, gpu: bool = False) -> Generator[None, None, None]:
    """Keep so many cores busy meanwhile, and the first GPU."""
    programs = [_BUSY] * cores + [_BUSY_ON_GPU] * gpu
    busy = [subprocess.Popen([sys.executable, "-c", program]) for program in programs]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def end_group(process: "subprocess.Popen[str]", within_s: float = 20.0) -> None:
    """End a process that leads a session of its own, with all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(within_s)


def end_left(folder: Path, within_s: float = 20.0) -> None:
    """Wait until nothing works below a folder any more; end by its id what stays."""
    deadline = time.monotonic() + within_s
    while (left := processes_below(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
