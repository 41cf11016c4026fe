"""GPUs in a real hub: a stand-in library beneath it, a rank's steps joined to what the library counts."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.dashboard_messages import Update
from perftui.ipc.errors import ConnectionLost
from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record, write_record
from perftui.ipc.summary import Summary
from perftui.ipc.view import GpuView
from perftui.trainer.telemetry.gpu_rates import INTERVAL_VARIABLE, OFF_VARIABLE

from ..telemetry.conftest import Behaviour, build_stand_in
from ..waiting import wait_until
from .conftest import HubProcess
from .fake_rank import FakeRank

UUID = "GPU-aaaa"
STEP_NS = 20_000_000
PATIENCE_S = 60.0


class TrainingRank(FakeRank):
    """Steps as time passes: one each 20 ms, each with 8 samples."""

    def begin(self) -> None:
        self.hello()
        self.gpu(UUID)
        self._end_ns = time.perf_counter_ns()

    def go_on(self) -> None:
        """Report the steps that have ended since."""
        count = (time.perf_counter_ns() - self._end_ns) // STEP_NS
        if count:
            ends = [self._end_ns + STEP_NS * (place + 1) for place in range(count)]
            self._end_ns = ends[-1]
            self.steps(count, ends_ns=ends)


@pytest.fixture
def behaviour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Behaviour:
    folder = tmp_path / "library"
    folder.mkdir()
    build_stand_in(folder)
    made = Behaviour(tmp_path / "behaviour")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    monkeypatch.setenv("STAND_IN_NVML", str(made.path))
    monkeypatch.delenv(OFF_VARIABLE, raising=False)
    monkeypatch.delenv(INTERVAL_VARIABLE, raising=False)
    return made


@pytest.fixture
def rank(places: RunPlaces) -> Iterator[TrainingRank]:
    made = TrainingRank(places)
    yield made
    made.link.close()


def alter(places: RunPlaces, **changes: object) -> None:
    description = read_record(places.description, RunDescription)
    assert description is not None
    write_record(places.description, msgspec.structs.replace(description, **changes))


def follow(link: DashboardLink, rank: TrainingRank, true_of: Callable[[Update, GpuView], bool]) -> GpuView:
    """Train until the hub shows the GPU so."""
    deadline = time.monotonic() + PATIENCE_S
    last: GpuView | None = None
    while time.monotonic() < deadline:
        rank.go_on()
        try:
            update = link.snapshot(2.0)
        except ConnectionLost:
            continue
        if update.view.gpus:
            last = update.view.gpus[0]
            if true_of(update, last):
                return last
        time.sleep(0.05)
    raise AssertionError(f"never came true; last was {last}")


def test_work_is_joined_to_steps(
    hub: HubProcess, rank: TrainingRank, link: DashboardLink, places: RunPlaces, behaviour: Behaviour
) -> None:
    alter(places, gpu_interval_s=0.2)
    # this process is the rank; its parent is somebody else
    behaviour.set(f"good {os.getpid()}:512 {os.getppid()}:100")
    hub.start()
    rank.begin()
    view = follow(link, rank, lambda _, gpu: gpu.energy_j_per_step is not None)
    assert view.window_steps > 0
    assert view.window_s == pytest.approx(view.window_steps * STEP_NS / 1e9)
    # 310 W by the library's counter, which is read at moments that are noted by another process
    assert view.energy_j_per_step == pytest.approx(310 * STEP_NS / 1e9, rel=0.2)
    assert view.energy_j_per_sample == pytest.approx(310 * STEP_NS / 1e9 / 8, rel=0.2)
    assert (view.throttled_share or {})["power_cap"] == pytest.approx(0.25, rel=0.2)
    assert view.sm_active_share == pytest.approx(0.02)
    assert view.missing == {}
    assert [(each.pid, each.memory_mib) for each in view.foreign_processes or []] == [(os.getppid(), 100)]
    assert (view.period_s or 0.0) >= 0.2  # longer on a machine so busy that a reading takes long
    rank.goodbye()
    write_record(places.exit_record, ExitRecord(exit_code=0, ended_unix=time.time()))
    wait_until(places.summary.exists, "the summary", PATIENCE_S)
    summary = msgspec.json.decode(places.summary.read_bytes(), type=Summary)
    assert [gpu.uuid for gpu in summary.gpus] == [UUID]
    assert summary.gpus[0].energy_j_per_step is not None


def test_a_hanging_driver_is_said_and_the_hub_goes_on(
    hub: HubProcess, rank: TrainingRank, link: DashboardLink, places: RunPlaces, behaviour: Behaviour
) -> None:
    alter(places, gpu_interval_s=0.2)
    hub.start()
    rank.begin()
    follow(link, rank, lambda _, gpu: gpu.sm_active_share is not None)
    behaviour.set("hang:utilisation")
    note: list[str] = []

    def told(update: Update, gpu: GpuView) -> bool:
        note[:] = [(update.view.hosts or [])[0].gpu_note or ""]
        return gpu.sm_active_share is None and "nvmlDeviceGetUtilizationRates" in note[0]

    view = follow(link, rank, told)
    assert view.missing["sm_active_share"].startswith("GPU driver not answering for ")
    assert view.missing["energy_j_per_step"].startswith("GPU driver not answering for ")
    steps = link.snapshot(5.0).view.ranks[0].steps
    follow(link, rank, lambda update, _: update.view.ranks[0].steps > steps)


def test_the_off_switch_reaches_the_hub(
    hub: HubProcess, rank: TrainingRank, link: DashboardLink, places: RunPlaces, behaviour: Behaviour
) -> None:
    alter(places, gpu_readings=False)
    behaviour.set("hang_at_start")  # whoever touched it would be caught
    hub.start()
    rank.begin()
    view = follow(
        link, rank, lambda update, _: "switched off" in ((update.view.hosts or [])[0].gpu_note or "")
    )
    assert set(view.missing.values()) == {"GPU readings are switched off (--no-nvml or PERFTUI_NO_NVML)"}
