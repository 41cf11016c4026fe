"""Every figure that NVML gives: its value, and what is said where the call fails, lies or has nothing."""

import os
import re
from pathlib import Path

import pytest

from perftui.ipc.view import GpuView
from perftui.trainer.telemetry.event_reasons import reasons_of
from perftui.trainer.telemetry.gpu_readings import FIGURES, THROTTLE_KINDS, WORK_FIGURES, DriverProcess
from perftui.trainer.telemetry.gpu_view import Foreigners
from perftui.trainer.telemetry.link_seen import LinkSeen

from .conftest import Behaviour, Start, poll_until, settled

ROOT = Path(__file__).parents[2]
NOT_JOINED = {"energy_j_per_step", "energy_j_per_sample", "foreign_processes"}
"""Figures that need the run's steps or processes, which the telemetry alone does not have."""


def value_or_reason(view: GpuView) -> None:
    """Every figure is a value, or has a reason; never both, never neither."""
    values = {figure for figure in FIGURES if getattr(view, figure) is not None}
    reasons = {name for name in view.missing if "." not in name}
    assert values | reasons == set(FIGURES)
    assert values & reasons == set()
    known = view.throttled_share or {}
    for kind in THROTTLE_KINDS:
        assert (kind in known) != (f"throttled_share.{kind}" in view.missing or not known)


def read_one(start: Start, words: str) -> GpuView:
    telemetry = start(words)
    telemetry.watch({"GPU-aaaa": [0]})
    (view,) = poll_until(telemetry, settled)
    value_or_reason(view)
    return view


def throttled_for(view: GpuView, power_cap: float, thermal_sw: float) -> bool:
    shares = view.throttled_share or {}
    told = [shares.get(kind, -1.0) for kind in ("power_cap", "thermal_sw")]
    return told == pytest.approx([power_cap, thermal_sw], rel=0.05)


def test_every_figure_of_a_healthy_gpu(start: Start) -> None:
    telemetry = start("good")
    telemetry.watch({"GPU-aaaa": [0]})
    # counters, differenced over moments that another process noted: on a busy host they take time to be exact
    (view,) = poll_until(telemetry, lambda views: settled(views) and throttled_for(views[0], 0.25, 0.1))
    value_or_reason(view)
    assert set(view.missing) == NOT_JOINED
    shares = (view.graphics_share, view.sm_active_share, view.occupancy_share)
    assert shares == pytest.approx((0.01, 0.02, 0.03))
    assert (view.tensor_active_share, view.dram_active_share) == pytest.approx((0.05, 0.1))
    assert (view.pcie_tx_mib_s, view.pcie_rx_mib_s) == pytest.approx((20, 21))
    assert (view.nvlink_rx_mib_s, view.nvlink_tx_mib_s) == pytest.approx((60, 61))
    assert (view.memory_used_mib, view.memory_total_mib, view.memory_reserved_mib) == (256, 1024, 24)
    assert (view.power_w, view.power_limit_w) == (321.5, 700)
    assert (view.temperature_c, view.memory_temperature_c) == (61, 77)
    assert (view.sm_clock_mhz, view.memory_clock_mhz, view.sm_clock_max_mhz) == (1755, 3201, 1980)
    assert view.event_reasons == ["power_cap", "thermal_sw", "bit 0x800"]
    assert (view.pcie_generation, view.pcie_generation_max) == (4, 5)
    assert (view.pcie_width, view.pcie_width_max) == (8, 16)
    assert (view.ecc_uncorrected, view.rows_remapped) == (0, 2)
    assert (view.remap_pending, view.remap_failed, view.mig_enabled) == (False, False, False)
    assert view.xids == []
    assert view.window_steps == 0
    throttled = view.throttled_share or {}
    assert [throttled[kind] for kind in ("thermal_hw", "power_brake", "sync_boost")] == [0, 0, 0]


THROTTLES = {"throttled_share", *(f"throttled_share.{kind}" for kind in THROTTLE_KINDS)}


@pytest.mark.parametrize(
    ("call", "figures"),
    [
        ("name", {"name"}),
        ("utilisation", {"utilisation_share"}),
        ("memory", {"memory_used_mib", "memory_total_mib", "memory_reserved_mib"}),
        ("power", {"power_w"}),
        ("limit", {"power_limit_w"}),
        ("energy", {"energy_j_per_step", "energy_j_per_sample"}),
        ("temperature", {"temperature_c"}),
        ("clock", {"sm_clock_mhz"}),
        ("memory_clock", {"memory_clock_mhz"}),
        ("max_clock", {"sm_clock_max_mhz"}),
        ("reasons", {"event_reasons"}),
        ("processes", {"foreign_processes"}),
        ("generation", {"pcie_generation"}),
        ("width_max", {"pcie_width_max"}),
        ("mig", {"mig_enabled"}),
        ("events", {"xids"}),
        ("register", {"xids"}),
        ("wait", {"xids"}),
        ("one_field", {"throttled_share.thermal_hw"}),
        (
            "fields",
            {
                "memory_temperature_c",
                "ecc_uncorrected",
                "rows_remapped",
                "remap_pending",
                "remap_failed",
                *THROTTLES,
            },
        ),
    ],
)
def test_a_call_that_fails_costs_its_own_figures_alone(start: Start, call: str, figures: set[str]) -> None:
    view = read_one(start, f"fail:{call}")
    not_told = {name for name, reason in view.missing.items() if reason == "Not Supported"}
    assert not_told == figures
    # whether the link was read under load is then not known either
    follows = {"pcie_generation"} if call == "utilisation" else set[str]()
    assert set(view.missing) == figures | follows | NOT_JOINED


def test_the_old_temperature_call_stands_in_for_the_new_one(start: Start) -> None:
    assert read_one(start, "fail:new_temperature").temperature_c == 59


def test_impossible_values_are_not_shown(start: Start) -> None:
    view = read_one(start, "garbage")
    possible = {"memory_total_mib", "memory_reserved_mib", "xids"}
    assert {figure for figure in FIGURES if getattr(view, figure) is not None} == possible
    assert view.memory_total_mib == 1024
    for figure in ("power_w", "memory_used_mib", "sm_active_share", "event_reasons", "mig_enabled"):
        assert "impossible value" in view.missing[figure]
    assert view.missing["energy_j_per_step"].startswith("the driver reports an impossible value")
    assert view.missing["foreign_processes"] == "the driver lists impossible process ids"


def test_what_drivers_write_where_they_have_no_value_is_not_shown(start: Start) -> None:
    view = read_one(start, "sentinels")
    for figure in ("memory_temperature_c", "ecc_uncorrected", "rows_remapped", "throttled_share"):
        assert "impossible value" in view.missing[figure]
    assert view.missing["sm_active_share"] == "GPM gives no number"
    assert view.power_w == 321.5


def test_a_gpu_without_gpm_says_so_and_tells_its_traffic_by_counters(start: Start) -> None:
    telemetry = start("no_gpm")
    telemetry.watch({"GPU-aaaa": [0]})
    expected = pytest.approx((100, 200, 300, 400), rel=0.05)

    def traffic(view: GpuView) -> tuple[float | None, ...]:
        return (view.pcie_tx_mib_s, view.pcie_rx_mib_s, view.nvlink_tx_mib_s, view.nvlink_rx_mib_s)

    (view,) = poll_until(telemetry, lambda views: settled(views) and traffic(views[0]) == expected)
    value_or_reason(view)
    without = {"graphics_share", "sm_active_share", "occupancy_share", "tensor_active_share"}
    without.add("dram_active_share")
    reason = "this GPU has no GPM: it needs Hopper or newer"
    assert {figure for figure in WORK_FIGURES if view.missing.get(figure) == reason} == without
    assert view.utilisation_share == 41 * 0.01


def test_one_metric_that_fails_costs_only_itself(start: Start) -> None:
    view = read_one(start, "fail:one_metric")
    assert view.missing["occupancy_share"] == "GPM: Not Supported"
    assert view.sm_active_share == pytest.approx(0.02)


def test_gpm_lost_in_the_middle_is_said_and_tried_again(start: Start, behaviour: Behaviour) -> None:
    telemetry = start(str(behaviour.path))
    telemetry.watch({"GPU-aaaa": [0]})
    poll_until(telemetry, settled)
    behaviour.set("gpm_lost")
    (view,) = poll_until(telemetry, lambda views: views[0].sm_active_share is None)
    assert view.missing["sm_active_share"] == "GPM lost (Insufficient Permissions)"
    assert view.missing["tensor_active_share"] == "GPM lost (Insufficient Permissions)"
    assert view.utilisation_share == 41 * 0.01
    # what the counters can tell instead, they tell
    (view,) = poll_until(telemetry, lambda views: "pcie_tx_mib_s" not in views[0].missing)
    behaviour.set("good")
    (view,) = poll_until(telemetry, lambda views: views[0].sm_active_share is not None)
    assert view.sm_active_share == pytest.approx(0.02)


def test_a_counter_that_falls_is_not_believed(start: Start) -> None:
    telemetry = start("backwards")
    telemetry.watch({"GPU-aaaa": [0]})
    told = ("energy_j_per_step", "throttled_share.power_cap", "throttled_share.thermal_sw")
    (view,) = poll_until(
        telemetry,
        lambda views: all("falls or leaps" in views[0].missing.get(name, "") for name in told),
    )
    value_or_reason(view)
    assert view.throttled_share == {"thermal_hw": 0, "power_brake": 0, "sync_boost": 0}
    assert view.power_w == 321.5


def test_a_critical_error_that_the_driver_reports_is_kept(start: Start) -> None:
    telemetry = start("xid")
    telemetry.watch({"GPU-aaaa": [0]})
    (view,) = poll_until(telemetry, lambda views: bool(views[0].xids))
    assert view.xids == [79]


def test_a_mig_instance_is_found_by_its_bare_digits(start: Start) -> None:
    telemetry = start("good")
    telemetry.watch({"GPU-wwww": [0]})
    (view,) = poll_until(telemetry, settled)
    assert view.name == "Stand-in 3"
    assert view.sm_active_share == pytest.approx(0.02)


def test_a_link_read_at_rest_says_nothing_about_its_generation(start: Start, behaviour: Behaviour) -> None:
    behaviour.set("idle")
    telemetry = start(str(behaviour.path))
    telemetry.watch({"GPU-aaaa": [0]})
    (view,) = poll_until(telemetry, settled)
    assert view.missing["pcie_generation"] == "read only at rest so far, where the link is slower"
    behaviour.set("good")
    (view,) = poll_until(telemetry, lambda views: views[0].pcie_generation is not None)
    assert view.pcie_generation == 4


def test_the_highest_generation_counts_once_it_was_read_under_load() -> None:
    link = LinkSeen()
    assert link.seen(1, 5, under_load=False) is None
    assert link.seen(3, 5, under_load=True) == 3
    assert link.seen(1, 5, under_load=False) == 3
    assert LinkSeen().seen(5, 5, under_load=False) == 5
    assert LinkSeen().seen(4, None, under_load=False) is None


def test_processes_are_told_with_their_memory(start: Start) -> None:
    telemetry = start(f"good {os.getpid()}:512 77")
    telemetry.watch({"GPU-aaaa": [0]})
    seen: list[tuple[int, float | None]] = []

    def judge(_uuid: str, listed: list[DriverProcess]) -> Foreigners:
        seen[:] = [(process.pid, process.memory_mib) for process in listed]
        return Foreigners([], None)

    poll_until(telemetry, settled)
    (view,) = telemetry.poll(foreign_of=judge)
    assert seen == [(os.getpid(), 512), (77, None)]
    assert view.foreign_processes == []


def test_reasons_are_told_by_bit() -> None:
    assert reasons_of(0) == []
    assert reasons_of(0x1 | 0x40 | 0x80) == ["idle", "thermal_hw", "power_brake"]
    assert reasons_of(1 << 20) == ["bit 0x100000"]
    assert reasons_of(1 << 40) is None


def test_the_call_that_takes_twenty_milliseconds_is_never_made() -> None:
    sources = [path for room in ("ipc", "trainer", "tui") for path in (ROOT / room).rglob("*.py")]
    assert [path for path in sources if re.search(r"PcieThroughput", path.read_text())] == []
