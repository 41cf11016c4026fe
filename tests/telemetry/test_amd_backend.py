"""The AMD backend against a stand-in for `amdsmi`, inside the real sampler."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perftui.ipc.view import GpuView
from perftui.trainer.telemetry.amd_identity import names_of, place_of
from perftui.trainer.telemetry.amd_residency import Residency
from perftui.trainer.telemetry.backend_choice import choose_backend
from perftui.trainer.telemetry.current_call import CurrentCall
from perftui.trainer.telemetry.gpu import GpuTelemetry
from perftui.trainer.telemetry.gpu_backend import NoBackend
from perftui.trainer.telemetry.gpu_over_steps import StepWindow
from perftui.trainer.telemetry.gpu_readings import FIGURES, DriverProcess
from perftui.trainer.telemetry.gpu_view import Foreigners
from perftui.trainer.telemetry.sampler_supervisor import GpuTiming

from .conftest import FAST, SHORT, Start, environment_with, poll_until, settled

FIRST = "GPU-4a2b3c4d5e6f7081"


@pytest.fixture
def start_amd(tmp_path: Path) -> Iterator[Start]:
    opened: list[GpuTelemetry] = []
    shutil.copy(Path(__file__).with_name("stand_in_amdsmi.py"), tmp_path / "amdsmi.py")

    def make(words: str, timing: GpuTiming = FAST) -> GpuTelemetry:
        environment = environment_with(tmp_path, "good")  # there is no NVIDIA library in that folder
        environment |= {"PYTHONPATH": str(tmp_path), "STAND_IN_AMDSMI": words}
        opened.append(GpuTelemetry("here", sys.executable, environment=environment, timing=timing))
        return opened[-1]

    yield make
    for telemetry in opened:
        telemetry.close()


def read_one(start_amd: Start, words: str, uuid: str = FIRST) -> GpuView:
    telemetry = start_amd(words)
    telemetry.watch({uuid: [0]})
    (view,) = poll_until(telemetry, lambda views: settled(views) or telemetry.note is not None)
    if "NVML" in (view.backend or ""):
        pytest.skip("this machine has a real NVML library")
    values = {figure for figure in FIGURES if getattr(view, figure) is not None}
    assert values | {name for name in view.missing if "." not in name} == set(FIGURES)
    return view


def test_what_amdsmi_tells(start_amd: Start) -> None:
    view = read_one(start_amd, "good")
    assert view.backend == "amdsmi 6.10.5"
    assert view.name == "Stand-in MI0"
    assert view.utilisation_share == pytest.approx(0.83)
    assert view.dram_active_share == pytest.approx(0.25)
    assert (view.memory_used_mib, view.memory_total_mib) == (40_960, 196_288)
    assert (view.power_w, view.power_limit_w) == (655, 750)
    assert (view.temperature_c, view.memory_temperature_c) == (71, 55)
    assert (view.sm_clock_mhz, view.memory_clock_mhz) == (2100, 1300)
    assert (view.pcie_generation, view.pcie_width, view.ecc_uncorrected) == (5, 16, 1)
    throttled = view.throttled_share or {}
    assert set(throttled) == {"power_cap", "thermal_sw", "thermal_hw"}
    assert throttled["power_cap"] == pytest.approx(0.5, rel=0.05)  # both counts are read in one call
    assert throttled["thermal_sw"] == throttled["thermal_hw"] == 0
    for figure in ("sm_active_share", "tensor_active_share", "xids", "event_reasons", "mig_enabled"):
        assert view.missing[figure] == "amdsmi has no such figure"


def test_energy_and_processes(start_amd: Start) -> None:
    telemetry = start_amd("good")
    telemetry.watch({FIRST: [0]})
    listed: list[DriverProcess] = []

    def judge(_uuid: str, processes: list[DriverProcess]) -> Foreigners:
        listed[:] = processes
        return Foreigners([])

    def steps(until_s: float) -> StepWindow:
        return StepWindow(10, ((until_s - 2.5, until_s),), 40.0)

    def read_for_long() -> bool:
        views = telemetry.poll({FIRST: steps}, judge)
        if "NVML" in (views[0].backend or ""):
            pytest.skip("this machine has a real NVML library")
        return views[0].energy_j_per_step is not None

    poll_until(telemetry, lambda _: read_for_long())
    (view,) = telemetry.poll({FIRST: steps}, judge)
    assert view.energy_j_per_step == pytest.approx(200 * 2.5 / 10, rel=0.2)
    assert view.energy_j_per_sample == pytest.approx(200 / 40, rel=0.2)
    assert [(process.pid, process.memory_mib) for process in listed] == [(4242, 3072)]


def test_an_old_gpu_that_tells_little(start_amd: Start) -> None:
    view = read_one(start_amd, "bare")
    assert view.utilisation_share is None
    assert view.missing["utilisation_share"] == "no value"
    assert view.missing["throttled_share"] == "this GPU keeps no count of its limits"
    assert view.power_w == 655


@pytest.mark.parametrize(
    ("call", "figures"),
    [("vram", {"memory_total_mib", "memory_used_mib"}), ("ecc", {"ecc_uncorrected"}), ("asic", {"name"})],
)
def test_a_call_that_fails_costs_its_own_figures(start_amd: Start, call: str, figures: set[str]) -> None:
    uuid = "aaff74a1-0000-1000-80e1-4a2b3c4d5e6f"  # without the serial, the device's own UUID names it
    view = read_one(start_amd, f"fail:{call}", uuid)
    for figure in figures:
        assert getattr(view, figure) is None
        assert view.missing[figure] in ("Error code: 2 | AMDSMI_STATUS_NOT_SUPPORTED", "no value")
    assert view.utilisation_share == pytest.approx(0.83)


def test_a_gpu_that_it_does_not_know(start_amd: Start) -> None:
    view = read_one(start_amd, "good", "GPU-ffffffff")
    assert view.missing == dict.fromkeys(FIGURES, "amdsmi knows no GPU with this UUID")


def test_a_hanging_call_is_named(start_amd: Start) -> None:
    telemetry = start_amd("hang", SHORT)
    telemetry.watch({FIRST: [0]})
    name = "amdsmi_get_gpu_metrics_info"
    (view,) = poll_until(telemetry, lambda views: name in (telemetry.note or "") or bool(views[0].ages_s))
    if "NVML" in (view.backend or ""):
        pytest.skip("this machine has a real NVML library")
    assert (telemetry.note or "").startswith("GPU driver not answering")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("refuses", "amdsmi: driver not loaded"),
        ("no_library", "amdsmi cannot be loaded (KeyError: 'libamd_smi.so')"),
    ],
)
def test_why_there_is_none(words: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(Path(__file__).with_name("stand_in_amdsmi.py"), tmp_path / "amdsmi.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("STAND_IN_AMDSMI", words)
    monkeypatch.delitem(sys.modules, "amdsmi", raising=False)
    backend = choose_backend(CurrentCall(), amd_device=tmp_path)
    sys.modules.pop("amdsmi", None)
    if not isinstance(backend, NoBackend):
        pytest.skip("this machine has a real NVML library")
    assert backend.reason.startswith(reason)
    assert "NVML" in backend.reason
    quiet = choose_backend(CurrentCall(), amd_device=tmp_path / "no such device")
    sys.modules.pop("amdsmi", None)
    assert isinstance(quiet, NoBackend)
    assert "amdsmi" not in quiet.reason
    for reading in (quiet.read_fast("g"), quiet.read_slow("g"), quiet.read_rare("g")):
        assert set(reading.missing.values()) == {quiet.reason}


def test_a_rank_may_name_a_gpu_in_any_of_its_forms() -> None:
    known = [names_of("aaff74a1-0000", "0x4a2b3c4d5e6f7081"), names_of(None, "0x11"), names_of("bbff", None)]
    serial = "4a2b3c4d5e6f7081"
    as_torch_prints = serial.encode().hex()
    for name in (f"GPU-{serial}", serial.upper(), f"GPU-{as_torch_prints}", "AAFF74A1-0000"):
        assert place_of(name, known) == 0
    assert place_of("GPU-0000000000000011", known) == 1
    assert place_of("GPU-bbff", known) == 2
    assert place_of("GPU-cc", known) is None
    assert place_of("bbff", [known[2], known[2]]) is None  # two of the same name: neither


def test_residencies_become_time() -> None:
    residency = Residency()
    first = {"accumulation_counter": 100, "ppt_residency_acc": 10, "prochot_residency_acc": 0xFFFFFFFF}
    assert residency.take(first, 1.0) == {"power_cap": 0}
    assert residency.take({**first, "accumulation_counter": 200, "ppt_residency_acc": 60}, 3.0) == {
        "power_cap": 1_000_000_000
    }
    # the firmware began anew: an interval is lost, and nothing is taken back
    assert residency.take({"accumulation_counter": 5, "ppt_residency_acc": 0}, 4.0) == {
        "power_cap": 1_000_000_000
    }
    assert residency.take({"accumulation_counter": 105, "ppt_residency_acc": 25}, 5.0) == {
        "power_cap": 1_250_000_000
    }
    assert residency.take({}, 6.0) == {}
