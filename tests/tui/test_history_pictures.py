"""Pictures over a run's steps as text, each in braille, blocks and ASCII, at 1 to 1,024 ranks."""

from typing import Literal

import pytest

from perftui.ipc.step_history import Lane, StepHistory, WorkerLane
from perftui.trainer.hub.rank_blocks import rank_map
from perftui.trainer.hub.step_blocks import step_history
from perftui.tui.glyphs import ChartStyle, to_ascii
from perftui.tui.renderables.bars import bar_rows, top_of
from perftui.tui.renderables.chart_parts import ChartMark
from perftui.tui.renderables.distribution import distribution
from perftui.tui.renderables.history_lanes import lanes_of, worker_timeline
from perftui.tui.renderables.lines import plain, width_of
from perftui.tui.renderables.rank_heat import (
    HeatStyle,
    columns_for,
    heat_axis,
    heat_key,
    heat_median,
    heat_rows,
)
from tests.tui.page_scenes import LOG, uneven_logs
from tests.tui.screen_text import texts


def history(lanes: list[Lane], workers: list[WorkerLane], why: str = "") -> StepHistory:
    return StepHistory(
        rank=0, first_step=0, last_step=39, newest_step=39, block_steps=10, exact_from=0,
        p50_ms=[20.0] * 4, p99_ms=[40.0] * 4, mean_ms=[22.0] * 4, slowest_ms=[41.0] * 4, wait_ms=[10.0] * 4,
        lanes=lanes, workers=workers, why_no_workers=why,
    )  # fmt: skip


def test_bars_have_their_height_in_both_styles() -> None:
    assert bar_rows([0.0, 0.125, 0.5, 1.0, None], 5, 1, "block") == [" ▁▄█ "]
    assert bar_rows([0.0, 0.5, 1.0, None], 2, 1, "braille") == ["⢠⡇"]
    assert bar_rows([0.25, 1.0], 2, 2, "block") == [" █", "▄█"]
    assert bar_rows([0.5, 1.0], 4, 1, "block") == ["▄▄██"], "fewer are drawn wider"
    assert bar_rows([0.1, 1.0, 0.5, 0.2], 2, 1, "block") == ["█▄"], "of more the highest is seen"
    assert bar_rows([0.001], 1, 1, "block") == ["▁"], "what is not 0 is seen"
    assert bar_rows([], 3, 1, "block") == ["   "]


def test_a_few_that_tower_above_all_others_do_not_flatten_them() -> None:
    assert top_of([1.0, 2.0, 4.0]) == 4.0
    assert top_of([4.0, 4.0]) == 4.0
    assert top_of([10.0] * 99 + [500.0, None]) == 15.0
    assert top_of([0.0] * 99 + [500.0]) == 500.0
    assert top_of([None]) == 0.0


@pytest.mark.parametrize("style", ["braille", "block"])
def test_lanes_stand_on_the_axis_of_the_chart_with_their_highest(style: ChartStyle) -> None:
    found = history(
        [
            Lane(name="forward", of="step", unit="ms", values=[10.0, 10.0, 20.0, None]),
            Lane(name="h2d", of="step", unit="ms", missing="not measured in these steps"),
            Lane(name="sm_active_share", of="gpu", unit="share", values=[0.5] * 4),
        ],
        [],
    )
    heading, forward, missing = texts(lanes_of(found, "step", 59, style))
    assert heading.startswith("phases")
    bars = {"braille": "⣤" * 20 + "⣿" * 10, "block": "▄" * 20 + "█" * 10}[style]
    assert forward == f"{'forward':<8}{bars}{' ' * 10}{'20.0 ms':>11}"
    assert missing == "— copy: not measured in these steps"
    share = {"braille": "⣤" * 40, "block": "▄" * 40}[style]
    assert texts(lanes_of(found, "gpu", 59, style))[1] == f"{'SM':<8}{share}{'50 %':>11}", (
        "of all, not of itself"
    )
    assert lanes_of(found, "host", 59, style) == []
    assert lanes_of(None, "step", 59, style) == []


@pytest.mark.parametrize("of", ["step", "gpu", "workers", "host"])
def test_what_the_figures_are_of_stands_in_the_title_at_every_width(
    of: Literal["step", "gpu", "workers", "host"],
) -> None:
    found = history([Lane(name="others_busy", of=of, unit="cores", values=[0.1] * 4)], [])
    for width in range(56, 160):
        (heading, *_rest) = texts(lanes_of(found, of, width))
        assert heading.endswith("; highest"), (width, heading)
        assert "over these steps" in heading
        assert "…" not in heading
        assert of not in ("host", "workers") or "cores" in heading


@pytest.mark.parametrize("unit", ["ms", "share", "cores", "MiB", "W"])
@pytest.mark.parametrize("highest", [0.000042, 0.00421, 0.421, 42.1, 9_999.0, 1_200_000.0])
def test_a_lane_has_room_for_its_figure(
    unit: Literal["ms", "share", "cores", "MiB", "W"], highest: float
) -> None:
    if unit == "share" and highest > 1:
        return
    lane = Lane(name="run_busy", of="host", unit=unit, values=[highest, None, highest / 2, 0.0])
    assert {width_of(row) for row in lanes_of(history([lane], []), "host", 59)[1:]} == {59}


def test_figures_with_one_reason_stand_together() -> None:
    why = "this rank uses no GPU that can be read"
    lanes = [Lane(name=name, of="gpu", unit="share", missing=why) for name in ("sm_active_share", "power_w")]
    assert texts(lanes_of(history(lanes, []), "gpu", 78))[1] == f"— SM, power: {why}"


@pytest.mark.parametrize("style", ["braille", "block"])
def test_workers_show_whose_batches_were_waited_for(style: ChartStyle) -> None:
    lanes = [
        WorkerLane(worker=0, batches=[5, 5, 0, 5], wait_ms=[0.0, 40.0, None, 0.1]),
        WorkerLane(worker=1, batches=[5, 5, 10, 5], wait_ms=[0.0, 0.0, 80.0, None]),
    ]
    rows = texts(worker_timeline(history([], lanes), 59, style))
    half, full = {"braille": ("⣤", "⣿"), "block": ("▄", "█")}[style]
    assert rows[1] == f"{'0':<8}{'·' * 10}{half * 10}{' ' * 10}{'·' * 10}{'40.0 ms':>11}"
    assert rows[2] == f"{'1':<8}{'·' * 20}{full * 10}{'·' * 10}{'80.0 ms':>11}"


def test_without_workers_the_reason_stands_there() -> None:
    rows = texts(worker_timeline(history([], [], "the loader has no workers"), 78))
    assert [row.rstrip() for row in rows] == ["batches of each worker", "— the loader has no workers"]


@pytest.mark.parametrize("style", ["braille", "block", "ascii"])
@pytest.mark.parametrize(("ranks", "bands"), [(8, 8), (64, 16), (1024, 16)])
def test_the_heat_map_shows_the_late_rank_at_any_size(ranks: int, bands: int, style: HeatStyle) -> None:
    late = ranks - 3
    found = rank_map(uneven_logs(ranks, 40, {late: 30.0, 0: 7.0}), 0, None, columns_for(90), bands, "before")
    rows = heat_rows(found, 90, style)
    assert len(rows) == bands
    darkest = {"braille": "⣿", "block": "█", "ascii": "#"}[style]
    each = ranks // bands
    assert [darkest in plain(row.line) for row in rows] == [at == late // each for at in range(bands)]
    assert [row.first_rank for row in rows] == list(range(0, ranks, each))
    assert found.bands[late // each].worst_rank == late
    name = {8: "5 ", 64: "60-63 ", 1024: "960… "}[ranks]
    last = plain(rows[late // each].line)
    assert last.startswith(name)
    assert last.rstrip().endswith("+30.0 %" if each == 1 else f"rank {late} +30.0 %")
    middle = {"braille": "⠶", "block": "▒", "ascii": "+"}[style]
    assert plain(rows[0].line)[8:20] == middle * 12
    assert {width_of(row.line) for row in rows} == {90}


def test_shades_are_the_same_on_every_run_and_are_told() -> None:
    found = rank_map(uneven_logs(4, 10, {1: 15.0}), 0, None, 10, 8, "before")
    key = texts(heat_key(found, 100, "block"))
    assert key[0].startswith("· under 2 %  ░ 2 %  ▒ 5 %  ▓ 10 %  █ 20 % and more")
    assert "what each did before the exchange" in key[1]
    assert key[0].endswith("a step a column")


def test_what_was_not_looked_at_and_not_kept_is_told() -> None:
    found = rank_map(uneven_logs(2, 6000, {1: 15.0}), 0, None, 60, 8, "step")
    words = " ".join(texts(heat_key(found, 100, "block")))
    assert "before step 1,904 steps are not kept one by one" in words
    assert plain(heat_rows(found, 86, "block")[0].line)[8:20] == " " * 12, "not known is not zero"


def test_the_axis_and_the_median_stand_below() -> None:
    found = rank_map(uneven_logs(4, 40, {1: 15.0}), 0, None, 40, 8, "before")
    axis = plain(heat_axis(found, 66, [ChartMark(20, "epoch")]))
    assert axis.startswith("steps   0")
    assert axis.index("◆epoch") == 8 + 20
    assert texts(heat_median(found, 66, 3, "block"))[0].endswith("100 ms")


def test_every_picture_is_ascii_where_nothing_else_can_be_shown() -> None:
    workers = [WorkerLane(worker=0, batches=[5] * 4, wait_ms=[0.0, 40.0, 10.0, None])]
    found = history([Lane(name="forward", of="step", unit="ms", values=[10.0, 1.0, 20.0, None])], workers)
    heat = rank_map(uneven_logs(4, 40, {1: 15.0}), 0, None, 40, 8, "before")
    drawn = [
        *lanes_of(found, "step", 78, "block"),
        *worker_timeline(found, 78, "block"),
        *distribution(step_history(LOG, 0, 0, None, 70), 78, 5, "block"),
        *(row.line for row in heat_rows(heat, 78, "ascii")),
        *heat_median(heat, 78, 2, "ascii"),
        *heat_key(heat, 78, "ascii"),
    ]
    for text in map(to_ascii, texts(drawn)):
        assert text.isascii()
        assert "?" not in text


@pytest.mark.parametrize("style", ["braille", "block"])
def test_the_distribution_keeps_its_shape_in_both_styles(style: ChartStyle) -> None:
    rows = texts(distribution(step_history(LOG, 0, 0, None, 70), 150, 5, style))
    highest = {cell for cell, glyph in enumerate(rows[0]) if glyph in "█⣿"}
    blocks = texts(distribution(step_history(LOG, 0, 0, None, 70), 150, 5, "block"))
    assert set() != {cell for cell, glyph in enumerate(blocks[0]) if glyph == "█"} <= highest
    assert len(highest) < 24
    assert rows[-1] == blocks[-1]
