"""Who paces the step: what is on the path, and what is not, in made windows."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.trace_report import GpuShares, RankReport
from perftui.ipc.view import DeviceView, GpuView
from perftui.trainer.diagnosis import POLICY
from perftui.trainer.diagnosis.pacing import Pace, pace_of
from perftui.trainer.diagnosis.signals import RankSignals

from .made import gpu, gpu_rank, loader, rank, shares


def _pace(rank: RankSignals, view: GpuView | None = None) -> Pace:
    return pace_of(rank, view, rank.shares.loader_wait, POLICY)


def test_workers_beside_the_model_pace_alone() -> None:
    pace = _pace(rank(shares=shares(wait=0.5, forward=0.2), loader=loader(num_workers=2)))
    assert (pace.pacer, pace.confidence) == ("loader", "measured")
    assert pace.path == {"loader"}
    assert not pace.paces("model", "host", "device", "communication")


def test_without_workers_loading_and_model_take_turns() -> None:
    pace = _pace(rank(shares=shares(wait=0.5, forward=0.1, other=0.1)))
    assert pace.pacer == "loader"
    assert pace.path == {"loader", "model", "host"}


@pytest.mark.parametrize(("wait", "pacer"), [(0.02, "model"), (0.3, "model"), (0.6, "loader")])
def test_on_a_cpu_the_longest_part_paces(wait: float, pacer: str) -> None:
    assert _pace(rank(shares=shares(wait=wait, forward=0.1))).pacer == pacer


def test_communication_counts_where_it_is_felt() -> None:
    made = rank(shares=msgspec.structs.replace(shares(), comm_exposed=0.2, backward=0.4))
    assert _pace(made).paces("communication")
    assert not _pace(rank()).paces("communication")
    times = DeviceView(
        sampled_steps=5,
        step_ms=100.0,
        wait_ms=0.0,
        forward_ms=30.0,
        backward_ms=40.0,
        comm_exposed_ms=20.0,
        optimizer_ms=5.0,
        other_ms=5.0,
    )
    assert _pace(gpu_rank(device_ms=times), gpu()).path == {"device", "communication"}


@pytest.mark.parametrize(
    ("engine", "steps", "pacer", "confidence"),
    [
        (0.90, 200, "device", "likely"),
        (0.69, 200, "host", "likely"),
        (0.80, 200, "unknown", "open"),
        (0.99, 0, "unknown", "open"),
        (None, 200, "unknown", "open"),
    ],
)
def test_host_or_device_by_the_gpus_counters(
    engine: float | None, steps: int, pacer: str, confidence: str
) -> None:
    pace = _pace(gpu_rank(), gpu(graphics_share=engine, window_steps=steps))
    assert (pace.pacer, pace.confidence) == (pacer, confidence)
    assert pace.paces("host", "device")


@pytest.mark.parametrize(("idle", "pacer"), [(0.19, "device"), (0.20, "host"), (0.7, "host")])
def test_a_window_knows_better_than_counters(idle: float, pacer: str) -> None:
    shown = GpuShares(compute_only=1 - idle, overlap=0, comm_exposed=0, mem_exposed=0, idle=idle)
    made = gpu_rank(report=RankReport(rank=0, path="t", gpu=shown))
    pace = _pace(made, gpu(graphics_share=0.5 if pacer == "device" else 0.99))
    assert (pace.pacer, pace.confidence) == (pacer, "measured")


def test_a_starved_gpu_without_workers_leaves_all_open() -> None:
    pace = _pace(gpu_rank(shares=shares(wait=0.6, forward=0.1)), gpu(graphics_share=0.3))
    assert pace.pacer == "loader"
    assert pace.path == {"loader", "host", "device"}


def test_what_was_not_measured_is_no_part() -> None:
    blind = rank(shares=msgspec.structs.replace(shares(), loader_wait=None, forward=None, comm_exposed=None))
    pace = pace_of(blind, None, None, POLICY)
    assert "loader" not in pace.parts
    assert "communication" not in pace.parts
    nothing = replace(blind, shares=type(blind.shares)())
    assert pace_of(nothing, None, None, POLICY).confidence == "open"
