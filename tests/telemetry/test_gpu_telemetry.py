"""The GPU sampler against a stand-in NVML library that answers, fails, lies and hangs."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perftui.ipc.view import GpuView
from perftui.trainer.telemetry.gpu import OFF_VARIABLE, GpuTelemetry, GpuTiming
from perftui.trainer.telemetry.gpu_lines import FIGURES

_PATIENCE_S = 30.0
_FAST = GpuTiming(period_s=0.05, deadline_s=1.0, start_deadline_s=10.0, pause_s=0.1, reprobe_s=0.1)


@pytest.fixture(scope="session")
def library_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler to build the stand-in NVML library with")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("stand_in_nvml.c")
    command = [compiler, "-shared", "-fPIC", "-o", str(folder / "libnvidia-ml.so.1"), str(source)]
    subprocess.run(command, check=True)
    return folder


def _telemetry(folder: Path, mode: str, timing: GpuTiming = _FAST) -> GpuTelemetry:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder), "STAND_IN_NVML": mode}
    environment.pop(OFF_VARIABLE, None)
    return GpuTelemetry("here", sys.executable, environment=environment, timing=timing)


@pytest.fixture
def start(library_folder: Path) -> Iterator[Callable[..., GpuTelemetry]]:
    opened: list[GpuTelemetry] = []

    def make(mode: str, timing: GpuTiming = _FAST) -> GpuTelemetry:
        opened.append(_telemetry(library_folder, mode, timing))
        return opened[-1]

    yield make
    for telemetry in opened:
        telemetry.close()


def _poll_until(telemetry: GpuTelemetry, met: Callable[[list[GpuView]], bool]) -> list[GpuView]:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        views = telemetry.poll()
        if met(views):
            return views
        time.sleep(0.01)
    pytest.fail(f"never came; the note is {telemetry.note!r}")


def _read(views: list[GpuView]) -> bool:
    return bool(views) and all("waiting" not in text for view in views for text in view.missing.values())


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_two_gpus_are_read_by_uuid_and_joined_to_their_ranks(start: Callable[..., GpuTelemetry]) -> None:
    telemetry = start("good")
    telemetry.watch({"bbbb": [3, 2], "GPU-aaaa": [0]})
    second, first = _poll_until(telemetry, _read)
    assert (second.uuid, second.ranks, second.name) == ("bbbb", [2, 3], "Stand-in 2")
    assert second.utilisation_share == 42 * 0.01
    assert (first.uuid, first.ranks, first.name, first.host) == ("GPU-aaaa", [0], "Stand-in 1", "here")
    assert first.utilisation_share == 41 * 0.01
    assert (first.memory_used_mib, first.memory_total_mib) == (256.0, 1024.0)
    assert (first.power_w, first.power_limit_w) == (321.5, 700.0)
    assert (first.temperature_c, first.sm_clock_mhz) == (61.0, 1980.0)
    assert first.missing == {}
    assert telemetry.note is None


def test_a_gpu_named_later_is_read_and_one_no_longer_named_is_gone(
    start: Callable[..., GpuTelemetry],
) -> None:
    telemetry = start("good")
    telemetry.watch({"GPU-aaaa": [0]})
    _poll_until(telemetry, _read)
    telemetry.watch({"GPU-bbbb": [1]})
    (view,) = _poll_until(telemetry, _read)
    assert view.name == "Stand-in 2"


def test_a_gpu_that_the_library_does_not_know_costs_only_itself(start: Callable[..., GpuTelemetry]) -> None:
    telemetry = start("good")
    telemetry.watch({"GPU-aaaa": [0], "GPU-zzzz": [1]})
    known, unknown = _poll_until(telemetry, _read)
    assert known.missing == {}
    assert unknown.missing == dict.fromkeys(FIGURES, "Not Found")
    assert unknown.utilisation_share is None


@pytest.mark.parametrize(
    ("call", "figures"),
    [
        ("name", {"name"}),
        ("utilisation", {"utilisation_share"}),
        ("memory", {"memory_used_mib", "memory_total_mib"}),
        ("power", {"power_w"}),
        ("limit", {"power_limit_w"}),
        ("temperature", {"temperature_c"}),
        ("clock", {"sm_clock_mhz"}),
    ],
)
def test_a_call_that_fails_costs_its_own_figure_alone(
    start: Callable[..., GpuTelemetry], call: str, figures: set[str]
) -> None:
    telemetry = start(f"fail:{call}")
    telemetry.watch({"GPU-aaaa": [0]})
    (view,) = _poll_until(telemetry, _read)
    assert view.missing == dict.fromkeys(figures, "Not Supported")
    values = {
        "name": view.name,
        "utilisation_share": view.utilisation_share,
        "memory_used_mib": view.memory_used_mib,
        "memory_total_mib": view.memory_total_mib,
        "power_w": view.power_w,
        "power_limit_w": view.power_limit_w,
        "temperature_c": view.temperature_c,
        "sm_clock_mhz": view.sm_clock_mhz,
    }
    assert {name for name, value in values.items() if value is None} == figures
    assert set(values) == set(FIGURES)


def test_the_old_temperature_call_stands_in_for_the_new_one(start: Callable[..., GpuTelemetry]) -> None:
    telemetry = start("fail:new_temperature")
    telemetry.watch({"GPU-aaaa": [0]})
    (view,) = _poll_until(telemetry, _read)
    assert view.temperature_c == 59.0
    assert view.missing == {}


def test_impossible_values_are_not_shown(start: Callable[..., GpuTelemetry]) -> None:
    telemetry = start("garbage")
    telemetry.watch({"GPU-aaaa": [0]})
    (view,) = _poll_until(telemetry, _read)
    assert set(view.missing) == set(FIGURES) - {"memory_total_mib"}
    assert view.memory_total_mib == 1024.0
    assert view.power_w is None
    assert view.memory_used_mib is None
    assert "impossible value" in view.missing["power_w"]


@pytest.mark.parametrize("mode", ["hang", "hang_at_start"])
def test_a_hanging_driver_is_said_killed_and_tried_again(
    start: Callable[..., GpuTelemetry], mode: str
) -> None:
    timing = GpuTiming(period_s=0.05, deadline_s=0.5, start_deadline_s=3.0, pause_s=0.1)
    telemetry = start(mode, timing)
    telemetry.watch({"GPU-aaaa": [0]})
    telemetry.poll()
    first = telemetry.sampler_pid
    assert first is not None
    (view,) = _poll_until(telemetry, lambda _: "not answering" in (telemetry.note or ""))
    assert view.utilisation_share is None
    _poll_until(telemetry, lambda _: telemetry.sampler_pid not in {first, None})
    assert _gone(first)
    (view,) = telemetry.poll()
    assert view.missing["power_w"].startswith("NVML not answering for")
    assert view.age_s > 0.5


def test_closing_ends_a_hanging_sampler(start: Callable[..., GpuTelemetry]) -> None:
    telemetry = start("hang", GpuTiming(period_s=0.05, deadline_s=60.0))
    telemetry.watch({"GPU-aaaa": [0]})
    telemetry.poll()
    pid = telemetry.sampler_pid
    assert pid is not None
    telemetry.close()
    assert telemetry.sampler_pid is None
    assert _gone(pid)


def test_figures_older_than_the_deadline_are_not_shown(start: Callable[..., GpuTelemetry]) -> None:
    telemetry = start("good")
    telemetry.watch({"GPU-aaaa": [0]})
    _poll_until(telemetry, _read)
    pid = telemetry.sampler_pid
    assert pid is not None
    os.kill(pid, 19)  # SIGSTOP: it lives and says nothing
    (view,) = _poll_until(telemetry, lambda views: views[0].utilisation_share is None)
    assert "not answering" in view.missing["utilisation_share"]
    _poll_until(telemetry, lambda views: views[0].utilisation_share is not None)
    assert telemetry.sampler_pid != pid
    assert telemetry.note is None


def test_a_sampler_that_dies_is_started_again(start: Callable[..., GpuTelemetry]) -> None:
    telemetry = start("good")
    telemetry.watch({"GPU-aaaa": [0]})
    _poll_until(telemetry, _read)
    pid = telemetry.sampler_pid
    assert pid is not None
    os.kill(pid, 9)
    _poll_until(telemetry, lambda _: telemetry.sampler_pid not in {pid, None})
    _poll_until(telemetry, lambda _: telemetry.note is None)


def test_a_driver_that_is_not_loaded_is_named_and_looked_for_again(
    start: Callable[..., GpuTelemetry],
) -> None:
    telemetry = start("no_driver")
    telemetry.watch({"GPU-aaaa": [0]})
    telemetry.poll()
    pid = telemetry.sampler_pid
    _poll_until(telemetry, lambda _: telemetry.note == "NVML: Driver Not Loaded")
    (view,) = _poll_until(telemetry, lambda _: telemetry.sampler_pid not in {pid, None})
    assert view.missing == dict.fromkeys(FIGURES, "NVML: Driver Not Loaded")


def test_an_absent_library_is_named(tmp_path: Path) -> None:
    telemetry = _telemetry(tmp_path, "good")
    try:
        telemetry.watch({"GPU-aaaa": [0]})
        (view,) = _poll_until(telemetry, lambda views: telemetry.note is not None or _read(views))
        if telemetry.note is None:
            pytest.skip("this machine has a real NVML library")
        assert telemetry.note == "NVML: NVML Shared Library Not Found"
        assert set(view.missing) == set(FIGURES)
    finally:
        telemetry.close()


def test_nothing_is_started_while_no_rank_uses_a_gpu(start: Callable[..., GpuTelemetry]) -> None:
    telemetry = start("good")
    assert telemetry.poll() == []
    assert telemetry.sampler_pid is None


def test_the_off_switch_keeps_nvml_untouched(library_folder: Path) -> None:
    for telemetry in (
        GpuTelemetry("here", sys.executable, enabled=False),
        GpuTelemetry("here", sys.executable, environment={OFF_VARIABLE: "1"}),
    ):
        telemetry.watch({"GPU-aaaa": [0]})
        (view,) = telemetry.poll()
        assert telemetry.sampler_pid is None
        assert "switched off" in (telemetry.note or "")
        assert "switched off" in view.missing["power_w"]
        telemetry.close()


def test_the_sampler_ends_with_its_hub(library_folder: Path) -> None:
    """Standard input closes when the hub dies, whatever killed it."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library_folder), "STAND_IN_NVML": "hang_at_start"}
    command = [sys.executable, "-m", "perftui.trainer.telemetry.gpu_sampler", "here", "1.0"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(_PATIENCE_S) == 0
