"""The host's lines and the workers' to exact strings: no app, no colour."""

import dataclasses

import msgspec
import pytest

from perftui.ipc.view import HostView, LoaderWorkers, Pressure
from perftui.tui.glyphs import to_ascii
from perftui.tui.layout import plan
from perftui.tui.renderables.host_lines import cores_bar, host_parts, store_parts
from perftui.tui.renderables.lines import Line, join, line, plain, width_of
from perftui.tui.renderables.rank_card import RankPicture, rank_card
from perftui.tui.renderables.rank_rows import rank_heading, rank_row
from perftui.tui.renderables.status_line import status_line, status_lines
from perftui.tui.renderables.worker_line import worker_cell, worker_line
from perftui.tui.state import DashboardState, Track
from tests.tui import scenes

WORKERS = LoaderWorkers(
    count=4,
    age_s=1.0,
    blocked=2,
    threads=12,
    cpu_share=0.91,
    cpu_share_max=0.99,
    cpu_wait_share=0.14,
    blocked_share=0.4,
    rss_mib=1234.0,
    read_mib_s=35.0,
    storage_read_mib_s=2.1,
)
BUSY = msgspec.structs.replace(
    scenes.HOST,
    cpus=4.0,
    cores=8.0,
    run_busy=2.0,
    others_busy=1.0,
    throttled_share=0.12,
    pressure_cpu=Pressure(source="cgroup", some=0.13, full=0.02),
    pressure_io=Pressure(source="host", some=0.004, full=0.0),
    pressure_memory=Pressure(source="host", some=0.0, full=0.0),
    memory_scope="cgroup",
    oom_kills=0,
    slow_age_s=1.0,
    shm_total_mib=4096.0,
    shm_free_mib=512.0,
    disk_read_mib_s=120.4,
    disk_write_mib_s=3.25,
    cached_read_share=0.98,
    network_in_mib_s=0.0,
    network_out_mib_s=1.0,
    sampler_cpu_share=0.0031,
    gpu_note=None,
)


def spoken(parts: list[Line]) -> str:
    return plain(join(parts, line(" · ")))


def roles(parts: list[Line], text: str) -> set[str]:
    return {run.role for part in parts for run in part if text in run.text}


def test_the_cores_are_shared_out_between_this_run_others_and_idleness() -> None:
    assert plain(cores_bar(BUSY, 8)) == "████▒▒░░"
    assert to_ascii(plain(cores_bar(BUSY, 8))) == "####::.."
    assert plain(cores_bar(msgspec.structs.replace(BUSY, others_busy=6.0), 8)) == "██▒▒▒▒▒▒"
    assert plain(cores_bar(msgspec.structs.replace(BUSY, others_busy=None), 8)) == "········"


def test_all_that_is_said_of_a_busy_host() -> None:
    assert spoken(host_parts(BUSY, 1)) == (
        "gpu07 █████▒▒▒░░ run 2.0 others 1.0 of 4 cores · throttled 12 % · waiting for cpu 13 % disk 0.4 %"
        " · load 2.13"
    )
    assert spoken(store_parts(BUSY)) == (
        "mem 3.2/7.7 GiB limit · shm free 512 MiB · disk 120 read 3.2 write MiB/s · 98 % of reads cached"
        " · net 0.0 in 1.0 out"
    )
    assert roles(host_parts(BUSY, 1), "12 %") == {"critical"}
    assert roles(host_parts(BUSY, 1), "13 %") == roles(store_parts(BUSY), "512 MiB") == {"warning"}


def test_trouble_comes_up_only_when_it_is_there() -> None:
    troubled = msgspec.structs.replace(
        BUSY,
        stolen=0.6,
        oom_kills=2,
        swap_in_mib_s=12.0,
        slow_age_s=22.0,
        age_s=9.0,
        pressure_memory=Pressure(source="host", some=0.3),
    )
    assert "stolen 0.6 cores" in spoken(host_parts(troubled, 2))
    assert spoken(host_parts(troubled, 2)).startswith("gpu07 +1 9 s old █")
    assert "disk 0.4 % memory 30 %" in spoken(host_parts(troubled, 2))
    assert "limit 2 killed" in spoken(store_parts(troubled))
    assert "swapping 12.0 MiB/s in" in spoken(store_parts(troubled))
    assert spoken(store_parts(troubled)).endswith("22 s old")


def test_iowait_goes_by_its_own_name_and_what_was_never_measured_is_no_zero() -> None:
    bare = HostView(name="h", age_s=0.0, pressure_io=Pressure(source="iowait", some=0.25))
    assert spoken(host_parts(bare, 1)) == "h ·········· run — others — of — cores · iowait 25 % · load —"
    assert spoken(store_parts(bare)) == "mem —"
    assert spoken(host_parts(scenes.HOST, 1, bar=False, unit=False)).startswith(
        "gpu07 run 1.8 others 0.1 of 2 · "
    )


def test_one_line_where_room_is_scarce_and_two_where_it_is_not() -> None:
    state = DashboardState("demo-1", header=scenes.header(), hosts=(BUSY,))
    short = plain(status_line(state, 80))
    assert short.split("  ")[0] == " gpu07 run 2.0 others 1.0 of 4 cores"
    assert short.endswith("  perftui costs 11.6 µs a step (0.008 %) ")
    first, second = status_lines(state, 120, 2)
    assert plain(first).startswith(" gpu07 █████▒▒▒░░ run 2.0 others 1.0 of 4 cores · throttled 12 %")
    assert plain(second).startswith(" mem 3.2/7.7 GiB limit · shm free 512 MiB")
    assert plain(second).endswith("perftui costs 11.6 µs a step (0.008 %) · host readings 0.3 % ")
    assert width_of(second) == 120
    assert len(status_lines(state, 120, 1)) == 1
    assert len(status_lines(dataclasses.replace(state, hosts=()), 120, 2)) == 1


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_no_status_line_is_wider_than_the_screen(width: int) -> None:
    state = DashboardState("demo-1", header=scenes.header(), hosts=(BUSY,))
    assert all(width_of(part) <= width for part in status_lines(state, width, 2))


def test_the_workers_of_a_rank_in_a_line() -> None:
    assert plain(worker_line(WORKERS, 200)) == (
        "4 workers · 0.9 cores each · 2 waiting for a device · waited for a core 14 % of the time"
        " · reads 35.0 MiB/s, 2.10 from storage · 1.21 GiB RSS · 12 threads"
    )
    assert plain(worker_line(WORKERS, 40)) == "4 workers · 0.9 cores each · 12 threads"
    first = LoaderWorkers(count=1, age_s=20.0, gone=3, found_by="kin")
    assert plain(worker_line(first, 200)) == "1 likely worker · — cores · 3 ended · 20 s old"
    dull = LoaderWorkers(
        count=2,
        age_s=1.0,
        cpu_share=0.2,
        cpu_wait_share=0.004,
        io_wait_share=0.0,
        read_mib_s=0.00183,
        storage_read_mib_s=0.0,
    )
    assert plain(worker_line(dull, 200)) == "2 workers · 0.2 cores each"
    cached = msgspec.structs.replace(dull, cpu_wait_share=0.86, read_mib_s=12.0)
    assert plain(worker_line(cached, 200)) == (
        "2 workers · 0.2 cores each · waited for a core 86 % of the time"
        " · reads 12.0 MiB/s, none from storage"
    )
    assert plain(worker_cell(WORKERS)) == "4×0.9 D2"
    assert plain(worker_cell(None)) == "—"


def _card(height: int, *, gpu: bool, workers: bool, device: bool = False) -> list[str]:
    view = scenes.rank(0, workers=WORKERS if workers else None, device_ms=scenes.DEVICE if device else None)
    track = Track((0, 1), (10.0, 20.0), (0.0, 0.0), (0, 0))
    picture = RankPicture(view, track, scenes.gpu(0) if gpu else None)
    drawn = [plain(part) for part in rank_card(picture, 90, height)]
    assert len(drawn) == height
    kinds = {
        "step 142": "speed",
        "■ wait": "legend",
        "4 workers": "workers",
        "tensor 13 %": "gpu",
        "1755/1980 MHz": "gpu state",
        "device 60.8 ms": "device",
    }
    return [kind for text in drawn[1:-1] for mark, kind in kinds.items() if mark in text]


def test_a_card_has_a_line_for_the_workers_where_there_is_room() -> None:
    assert _card(8, gpu=True, workers=True)[-2:] == ["workers", "gpu"]
    assert _card(7, gpu=False, workers=True)[-1] == "workers"
    assert _card(7, gpu=True, workers=True)[-1] == "gpu"
    for height in (5, 6):
        assert "workers" not in _card(height, gpu=True, workers=True)
    assert _card(9, gpu=True, workers=True)[-3:] == ["workers", "gpu", "gpu state"]
    assert plan(120, 40, 1, gpus=True, workers=True).card == 9
    assert plan(80, 24, 1, gpus=True, workers=True).card == 8
    assert plan(120, 40, 1, workers=True).card == 7
    assert plan(120, 40, 1).card == 6
    assert plan(80, 24, 2, gpus=True, workers=True).card == 5


def test_device_times_stand_below_the_phases_when_all_else_has_room() -> None:
    assert _card(10, gpu=True, workers=True, device=True) == [
        "speed", "legend", "device", "workers", "gpu", "gpu state",
    ]  # fmt: skip
    assert _card(9, gpu=True, workers=True, device=True) == _card(9, gpu=True, workers=True)
    assert _card(7, gpu=False, workers=False, device=True) == ["speed", "legend", "device"]
    assert plan(120, 40, 1, gpus=True, workers=True, device_times=True).card == 10
    assert plan(120, 40, 1, device_times=True).card == 7


def test_a_table_has_a_column_for_the_workers() -> None:
    view = scenes.rank(3, workers=WORKERS)
    row, heading = rank_row(RankPicture(view, Track()), 200), rank_heading(200)
    end = plain(heading).index(" workers") + len(" workers")
    assert plain(row)[:end].endswith("4×0.9 D2")


def test_the_host_has_a_line_of_its_own_from_thirty_lines_on() -> None:
    assert (plan(120, 29, 1).status, plan(120, 30, 1).status) == (1, 2)
    small, large = plan(120, 29, 1), plan(120, 30, 1)
    assert small.ranks + small.middle + small.bottom + small.status == 29 - 4
    assert large.ranks + large.middle + large.bottom + large.status == 30 - 4
