"""A stand-in for NVIDIA's library, built where there is a C compiler, and GPU telemetry that reads it."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from perftui.ipc.view import GpuView
from perftui.trainer.telemetry.gpu import GpuTelemetry
from perftui.trainer.telemetry.gpu_rates import INTERVAL_VARIABLE, OFF_VARIABLE, GpuRates
from perftui.trainer.telemetry.sampler_supervisor import GpuTiming

PATIENCE_S = 90.0
QUICK = GpuRates(fast_s=0.12, slow_s=0.12, rare_s=0.2)
FAST = GpuTiming(rates=QUICK, deadline_s=20.0, start_deadline_s=60.0, pause_s=0.1, reprobe_s=0.1)
SHORT = GpuTiming(rates=QUICK, deadline_s=3.0, start_deadline_s=20.0, pause_s=0.1, reprobe_s=0.1)
"""For drivers that hang; elsewhere patience costs nothing, and a loaded machine needs it."""

Start: TypeAlias = Callable[..., GpuTelemetry]


def build_stand_in(folder: Path) -> None:
    """Build the library into a folder; skip the test where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler to build the stand-in NVML library with")
    source = Path(__file__).with_name("stand_in_nvml.c")
    command = [compiler, "-shared", "-fPIC", "-o", str(folder / "libnvidia-ml.so.1"), str(source)]
    subprocess.run(command, check=True)


@pytest.fixture(scope="session")
def library_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nvml")
    build_stand_in(folder)
    return folder


def environment_with(folder: Path, behaviour: str) -> dict[str, str]:
    """Return an environment in which the library is found and behaves so."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder), "STAND_IN_NVML": behaviour}
    environment.pop(OFF_VARIABLE, None)
    environment.pop(INTERVAL_VARIABLE, None)
    return environment


class Behaviour:
    """How the library behaves, alterable while it is in use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set("good")

    def set(self, words: str) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text(words)
        fresh.replace(self.path)


@pytest.fixture
def behaviour(tmp_path: Path) -> Behaviour:
    return Behaviour(tmp_path / "behaviour")


@pytest.fixture
def start(library_folder: Path) -> Iterator[Start]:
    opened: list[GpuTelemetry] = []

    def make(words: str, timing: GpuTiming = FAST) -> GpuTelemetry:
        environment = environment_with(library_folder, words)
        opened.append(GpuTelemetry("here", sys.executable, environment=environment, timing=timing))
        return opened[-1]

    yield make
    for telemetry in opened:
        telemetry.close()


def poll_until(telemetry: GpuTelemetry, met: Callable[[list[GpuView]], bool]) -> list[GpuView]:
    """Poll until the views fit."""
    deadline = time.monotonic() + PATIENCE_S
    views: list[GpuView] = []
    while time.monotonic() < deadline:
        views = telemetry.poll()
        if met(views):
            return views
        time.sleep(0.01)
    pytest.fail(f"never came; the note is {telemetry.note!r}, the views are {views}")


def settled(views: list[GpuView]) -> bool:
    """Whether all rates have been read, and rates over time have their two readings."""
    waiting = ("waiting", "needs two readings", "not answering")
    return bool(views) and not any(
        word in reason for view in views for reason in view.missing.values() for word in waiting
    )


def gone(pid: int) -> bool:
    """Whether there is no such process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
