"""The two lines of a GPU: every figure, and what stands there when one is not known."""

import dataclasses

import msgspec
import pytest

from perftui.ipc.view import GpuProcess, GpuView
from perftui.tui.renderables.gpu_lines import gpu_lines, gpu_word
from perftui.tui.renderables.lines import plain, width_of
from perftui.tui.renderables.rank_card import RankPicture, rank_card
from perftui.tui.renderables.rank_rows import rank_heading, rank_row
from perftui.tui.renderables.status_line import status_line
from perftui.tui.state import DashboardState, Track

from . import scenes


def drawn(gpu: GpuView, width: int) -> list[str]:
    return [plain(each) for each in gpu_lines(gpu, width)]


def test_work_and_state_of_a_gpu() -> None:
    assert drawn(scenes.gpu(0), 110) == [
        "SM █▉░░░░░░░░ 18 %  tensor 13 %  mem ▎░░░░░░░░░ 3.1/140 GiB  DRAM 4.3 %  PCIe in 830 MiB/s  "
        "occupancy 6.2 %",
        "132/700 W  power-capped 31 %  1755/1980 MHz  41 °C  0.581 J/sample",
    ]


def test_where_room_is_scarce_the_most_needed_stays() -> None:
    assert drawn(scenes.gpu(0), 52) == [
        "SM ▉░░░░ 18 %  tensor 13 %  mem ▏░░░░ 3.1/140 GiB",
        "132/700 W  power-capped 31 %  1755/1980 MHz  41 °C",
    ]


@pytest.mark.parametrize("width", [20, 40, 52, 76, 110, 200])
def test_no_line_is_wider_than_its_room(width: int) -> None:
    everything = scenes.gpu(
        0,
        nvlink_rx_mib_s=120_000.0,
        xids=[79],
        foreign_processes=[GpuProcess(pid=1, name="x" * 40)],
        pcie_width=8,
    )
    lost = scenes.gpu(0, sm_active_share=None, missing={"sm_active_share": "GPM lost " * 9})
    for gpu in (scenes.gpu(0), everything, lost, GpuView(uuid="g", host="h", ranks=[], age_s=0.0)):
        assert all(width_of(each) <= width for each in gpu_lines(gpu, width))


def test_without_gpm_the_kernel_and_the_reason_are_shown() -> None:
    gpu = scenes.gpu(0, sm_active_share=None, missing={"sm_active_share": "GPM lost (Not Supported)"})
    assert drawn(gpu, 100)[0] == (
        "kernel ██▍░░░░░░░ 24 %  mem ▎░░░░░░░░░ 3.1/140 GiB  SM — GPM lost (Not Supported)"
    )
    assert plain(gpu_word(gpu)) == "kernel 24 %"
    assert plain(gpu_word(scenes.gpu(0))) == "SM 18 %"


def test_what_is_not_known_is_a_dash() -> None:
    gpu = scenes.gpu(
        0, power_w=None, temperature_c=None, sm_clock_mhz=None, throttled_share=None, energy_j_per_sample=None
    )
    assert drawn(gpu, 110)[1] == "—/700 W  throttled —  —/1980 MHz  — °C  18.6 J/step"
    by_reason = scenes.gpu(0, throttled_share=None, event_reasons=["power_cap", "bit 0x800"])
    assert "throttled —, now power cap, bit 0x800  " in drawn(by_reason, 110)[1]
    none_held = scenes.gpu(0, throttled_share={"power_cap": 0.0, "thermal_sw": 0.001})
    assert "throttled 0 %" in drawn(none_held, 110)[1]


def test_a_gpu_that_is_not_read_says_why() -> None:
    reason = "GPU driver not answering for 12 s (in nvmlDeviceGetUtilizationRates)"
    silent = GpuView(uuid="g", host="h", ranks=[0], age_s=12.0, missing={"utilisation_share": reason})
    assert drawn(silent, 110) == [f"GPU — {reason}", ""]


def test_troubles_come_before_what_is_usual() -> None:
    gpu = scenes.gpu(
        0,
        throttled_share={"power_cap": 0.31, "thermal_hw": 0.02},
        xids=[13, 79],
        ecc_uncorrected=2,
        foreign_processes=[GpuProcess(pid=7, name="python"), GpuProcess(pid=8), GpuProcess(pid=9)],
        pcie_generation=4,
    )
    assert drawn(gpu, 200)[1] == (
        "132/700 W  throttled hot 2.0 %  power-capped 31 %  ! XID 79  ! 2 ECC errors  "
        "! also on it: python, pid 8 +1  1755/1980 MHz  41 °C  0.581 J/sample  ! PCIe 4×16 of 5×16"
    )


def test_the_card_has_both_lines_where_it_is_high_enough() -> None:
    picture = RankPicture(scenes.rank(0), Track(), scenes.gpu(0))
    cards = {height: [plain(each) for each in rank_card(picture, 80, height)] for height in (5, 6, 7, 8)}
    assert "SM 18 %  ● training" in cards[5][0]
    for height in (6, 7):
        assert any("tensor 13 %" in each for each in cards[height])
        assert not any("1755/1980 MHz" in each for each in cards[height])
        assert "SM" not in cards[height][0]
    assert "tensor 13 %" in cards[8][5]
    assert "1755/1980 MHz" in cards[8][6]


def test_the_table_tells_work_apart_from_a_kernel_that_is_present() -> None:
    picture = RankPicture(scenes.rank(0), Track(), scenes.gpu(0))
    heading, row = plain(rank_heading(200)), plain(rank_row(picture, 200))
    for word, value in (("SM", "18 %"), ("kernel", "24 %")):
        end = heading.index(word) + len(word)
        assert row[:end].endswith(value)


def test_what_the_readings_cost_is_told() -> None:
    state = DashboardState("r", header=scenes.header(overhead_us=3.0), gpus=(scenes.gpu(0),))
    assert "GPU readings 0.6 %" in plain(status_line(state, 120))
    host = msgspec.structs.replace(scenes.HOST, sampler_cpu_share=0.003)
    both = dataclasses.replace(state, hosts=(host,))
    assert plain(status_line(both, 160)).endswith(
        "(0.008 %) · readings 0.3 % host 0.6 % GPU · dropped nothing "
    )
    assert plain(status_line(both, 120)).endswith("(0.008 %) · readings 0.9 % ")
    assert "readings" not in plain(status_line(both, 80))


def test_what_was_lost_is_told_before_what_the_readings_cost() -> None:
    losing = scenes.rank(0, dropped=1200, lost_frames=2, probe_errors=3)
    state = DashboardState("r", header=scenes.header(), hosts=(scenes.HOST,), ranks=(losing,))
    told = "1,200 steps dropped · 2 frames lost · 3 probe errors "
    assert plain(status_line(state, 120)).endswith(f"(0.008 %) · {told}")
    assert plain(status_line(state, 80)).endswith(f"  {told}")
    assert "costs" not in plain(status_line(state, 80))
