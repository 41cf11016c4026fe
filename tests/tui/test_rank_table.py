"""The table of many ranks: order, heat, what fits; and in the real app keys and mouse."""

import msgspec
import pytest
from textual.pilot import Pilot

from perftui.ipc.host_view import LoaderWorkers
from perftui.ipc.view import RanksTogether, RankView, RunView, Shares, StepStats
from perftui.tui.app import DashboardApp
from perftui.tui.palette import THEMES, palette_of
from perftui.tui.renderables.heat import hot, longer, lost, worse
from perftui.tui.renderables.lines import plain, width_of
from perftui.tui.renderables.rank_card import RankPicture
from perftui.tui.renderables.rank_columns import COLUMNS, absent_columns, column_at, columns_for
from perftui.tui.renderables.rank_order import RankOrder
from perftui.tui.renderables.rank_rows import rank_heading, rank_row, scroll_bar
from perftui.tui.state import NO_TRACK
from tests.tui import scenes
from tests.tui.played import LARGE, SMALL, with_app
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

HUGE = (200, 60)
MEDIANS = {
    "now_ms": 100.0,
    "p50_ms": 100.0,
    "p99_ms": 120.0,
    "forward": 0.3,
    "backward": 0.6,
    "samples_per_s": 640.0,
}
QUIET = Shares(loader_wait=0.01, forward=0.3, backward=0.6, optimizer=0.05, other=0.04)


def view_of(rank: int, **changes: object) -> RankView:
    usual: dict[str, object] = {
        "now_ms": 100.0,
        "step_ms": StepStats(mean=100.0, p50=100.0, p90=110.0, p99=120.0),
        "samples_per_s": 640.0,
        "shares": QUIET,
        "marks": [],
    }
    return scenes.rank(rank, **{**usual, **changes})


def picture_of(rank: int, **changes: object) -> RankPicture:
    return RankPicture(view_of(rank, **changes), NO_TRACK)


def many(ranks: int) -> RunView:
    """Rank 7 computes longer, rank 11 is silent."""
    views = [view_of(rank, now_ms=100.0 + rank % 5) for rank in range(ranks)]
    slow = Shares(loader_wait=0.01, forward=0.55, backward=0.35, optimizer=0.05, other=0.04)
    views[7] = view_of(7, shares=slow, marks=["rank.straggler_compute"], now_ms=140.0)
    views[11] = view_of(11, state="silent", age_s=12.0)
    together = RanksTogether(states={"training": ranks - 1, "silent": 1}, medians=MEDIANS)
    head = scenes.header(world_size=ranks)
    return msgspec.structs.replace(scenes.fine(), header=head, ranks=views, together=together)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_heading_and_rows_line_up_and_the_column_under_the_mouse_is_the_one_that_stands_there(
    width: int,
) -> None:
    heading = rank_heading(width, RankOrder("step ms", falling=True))
    assert width_of(heading) == width_of(rank_row(picture_of(5), width, medians=MEDIANS)) == width
    assert "step ms↓" in plain(heading)
    for column in columns_for(width):
        place = plain(heading).index(column.heading)
        assert column_at(width, place) == column
    assert column_at(width, 0) is None


def test_more_columns_come_with_more_room_and_none_is_lost_in_a_wide_terminal() -> None:
    shown_at = [{column.heading for column in columns_for(width)} for width in (80, 120, 200, 240)]
    assert shown_at[0] >= {"rank", "step ms", "wait", "state", "p50", "p99"}
    assert shown_at[0] < shown_at[1] < shown_at[2] < shown_at[3] == {column.heading for column in COLUMNS}


@pytest.mark.parametrize("steps", [1, 999_999, 1_000_000, 40_000_000, 2_000_000_000])
@pytest.mark.parametrize("step_ms", [0.04, 0.421, 99.96, 9_999.0, 12_310.0, 1_200_000.0, 36_000_000.0])
def test_no_number_is_cut(steps: int, step_ms: float) -> None:
    view = view_of(
        7,
        steps=steps,
        now_ms=step_ms,
        step_ms=StepStats(mean=step_ms, p50=step_ms, p90=step_ms, p99=step_ms),
        samples_per_s=steps / 1000,
        tokens_per_s=float(steps),
        workers=LoaderWorkers(count=16, age_s=0.0, cpu_share=0.95, blocked=2),
    )
    for used_mib, total_mib in ((81_000.0, 81_559.0), (3_174.0, 143_771.0), (1_100_000.0, 1_200_000.0)):
        gpu = scenes.gpu(0, memory_used_mib=used_mib, memory_total_mib=total_mib)
        for column in COLUMNS:
            if column.right:
                drawn = column.cell(RankPicture(view, NO_TRACK, gpu), MEDIANS)
                assert width_of(drawn) <= column.width, f"{column.heading}: {plain(drawn)}"


def test_large_numbers_are_rounded_and_long_times_name_their_unit() -> None:
    def cells(**changes: object) -> dict[str, str]:
        return {column.heading: plain(column.cell(picture_of(0, **changes), MEDIANS)) for column in COLUMNS}

    long_ms = StepStats(mean=1.2e6, p50=1.2e6, p90=1.2e6, p99=3.6e7)
    far = cells(steps=1_000_000, now_ms=12_310.0, step_ms=long_ms, tokens_per_s=12_345_678.0)
    assert [far[name] for name in ("steps", "step ms", "p50", "p99", "tokens/s")] == [
        "1.00M", "12.3 s", "1200 s", "10.0 h", "12.3M",
    ]  # fmt: skip
    near = cells(steps=999_999, now_ms=9_999.0, tokens_per_s=1_234_567.0)
    assert [near[name] for name in ("steps", "step ms", "tokens/s")] == ["999,999", "9999", "1,234,567"]


def test_ranks_are_sorted_by_a_column_equal_ones_by_number_and_what_is_unknown_last() -> None:
    pictures = [picture_of(0, now_ms=5.0), picture_of(1, now_ms=None), picture_of(2, now_ms=9.0),
                picture_of(3, now_ms=5.0)]  # fmt: skip

    def ranks(order: RankOrder) -> list[int]:
        return [picture.view.rank for picture in order.sorted(pictures)]

    assert ranks(RankOrder()) == ranks(RankOrder().by("rank")) == [0, 1, 2, 3]
    assert ranks(RankOrder().by("step ms")) == [2, 0, 3, 1]
    assert ranks(RankOrder().by("step ms").turned()) == [0, 3, 2, 1]
    assert ranks(RankOrder().by("rank").by("rank")) == [3, 2, 1, 0]


def test_at_first_silent_ranks_stand_first_then_those_with_findings_then_all_others() -> None:
    pictures = [
        picture_of(0),
        picture_of(1, marks=["rank.imbalance"]),
        picture_of(2, state="silent"),
        picture_of(3),
    ]
    assert [picture.view.rank for picture in RankOrder().sorted(pictures)] == [2, 1, 0, 3]


def test_what_no_rank_has_gives_its_room_to_others() -> None:
    pictures = [picture_of(0), picture_of(1, tokens_per_s=4000.0)]
    absent = absent_columns(pictures)
    assert absent == {"comm", "workers", "SM", "kernel", "GPU memory"}
    assert "host" in plain(rank_heading(200, absent=absent))
    assert "host" not in plain(rank_heading(200))


def test_states_are_sorted_by_what_needs_a_look_first() -> None:
    pictures = [picture_of(0), picture_of(1, state="ended"), picture_of(2, state="silent")]
    assert [p.view.rank for p in RankOrder().by("state").sorted(pictures)] == [2, 1, 0]


def test_the_order_goes_from_column_to_column_of_those_that_fit() -> None:
    headings = [column.heading for column in columns_for(80)]
    order = RankOrder().beside(80, 1)
    assert order == RankOrder("rank", falling=False)
    for heading in (*headings[1:], headings[0]):
        order = order.beside(80, 1)
        assert order.heading == heading
    assert order.beside(80, -1).heading == headings[-1]


def test_heat_is_told_by_how_much_worse_than_the_median() -> None:
    assert [worse(value, 100.0) for value in (None, 80.0, 104.0, 106.0, 116.0, 131.0)] == [0, 0, 0, 1, 2, 3]
    assert [worse(value, 100.0, low=True) for value in (120.0, 96.0, 90.0, 80.0, 70.0)] == [0, 0, 1, 2, 3]
    assert worse(200.0, None) == 0
    assert [longer(share, 0.3) for share in (None, 0.2, 0.34, 0.36, 0.41, 0.55)] == [0, 0, 0, 1, 2, 3]
    assert [lost(share) for share in (None, 0.05, 0.1, 0.3, 0.6)] == [0, 0, 1, 2, 3]


def test_a_hot_cell_can_be_told_without_colours() -> None:
    bare = palette_of(THEMES[0], monochrome=True)
    styles = [bare.style(run.role, run.back) for run in (hot("9", level) for level in range(4))]
    assert [(bool(style.bold), bool(style.reverse)) for style in styles] == [
        (False, False), (True, False), (False, True), (False, True),
    ]  # fmt: skip


def test_the_row_of_a_slow_rank_is_hot_where_it_is_slow() -> None:
    slow = Shares(loader_wait=0.01, forward=0.55, backward=0.35, optimizer=0.05, other=0.04)
    row = rank_row(picture_of(7, shares=slow, now_ms=140.0), 200, medians=MEDIANS)
    assert {(run.text.strip(), run.back) for run in row if run.back} == {("140", "heat3"), ("55 %", "heat3")}
    assert not any(run.back for run in rank_row(picture_of(1), 200, medians=MEDIANS))


def test_the_scroll_bar_covers_the_part_in_view() -> None:
    def bar(top: int) -> str:
        return "".join(run.text for run in scroll_bar(top, 10, 40))

    assert bar(0) == "██" + "│" * 8
    assert bar(30) == "│" * 8 + "██"
    assert scroll_bar(0, 10, 10) == []


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
def test_a_thousand_ranks_are_sorted_by_keys_and_walked_through_in_that_order(size: tuple[int, int]) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "1,024 ranks ! 1 silent")
        await shown(pilot, "▶      0  ")
        await pilot.press("G")
        await shown(pilot, "▶   1023  ")
        await pilot.press("g")
        await shown(pilot, "▶     11  ")
        while "step ms↓" not in text(app):
            await pilot.press(">")
        assert text(app).index("▲     7") < text(app).index("  104")
        await pilot.press("g")
        await shown(pilot, "▶▲     7  ")
        await pilot.press("j")
        await shown(pilot, "▶      4  ")
        await pilot.press("v")
        await shown(pilot, "step ms↑")
        await pilot.press("enter")
        await shown(pilot, "rank 4 cpu on gpu07")

    with_app(many(1024), size, play)


@pytest.mark.usefixtures("places")
def test_the_mouse_sorts_scrolls_and_chooses() -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "▶      0  ")
        heading = next(row for row in text(app).splitlines() if "step ms" in row)
        await pilot.click("#table", offset=(heading.index("step ms"), 0))
        await until(pilot, lambda: "step ms↓" in text(app), "sorted by step time")
        await pilot.click("#table", offset=(6, 1))
        await shown(pilot, "▶▲     7  ")
        await pilot.click("#table", offset=(heading.index("rank"), 0))
        await shown(pilot, "rank↑")
        await pilot.double_click("#table", offset=(6, 2))
        await shown(pilot, "rank 1 cpu on gpu07")

    with_app(many(64), LARGE, play)


def test_a_table_without_room_keeps_its_order() -> None:
    for width in range(30):
        for way in (1, -1):
            assert RankOrder().beside(width, way).heading
