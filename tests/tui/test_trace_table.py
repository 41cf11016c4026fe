"""Tables of a profile as text: which columns fit, what order, which rows, what an expanded row tells."""

from dataclasses import replace

import msgspec
import pytest

from perftui.ipc.trace_difference import rank_difference
from perftui.ipc.worker_stacks import WorkerFrame, WorkerStacks
from perftui.tui.renderables.lines import plain
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_table import (
    AnyTable,
    arranged,
    column_at,
    heading_line,
    largest_first,
    layout,
    matching,
    row_line,
    searched,
)
from perftui.tui.renderables.trace_tabs import TABS, tab_line
from tests.tui import scenes, trace_scenes
from tests.tui.trace_tables import FULL, table_of


def drawn(table: AnyTable, width: int, sort: int | None = None) -> list[str]:
    """Heading and rows, as they stand when the tab is opened."""
    by = table.sort if sort is None else sort
    plan = layout(table, width, by)
    descending = largest_first(table, by)
    order = arranged(table, by, descending=descending, among=range(len(table.rows)))
    heading = plain(heading_line(table, plan, by, descending=descending))
    return [heading, *(plain(row_line(table, plan, at)) for at in order)]


def test_operators_are_sorted_by_share_and_lose_the_least_needed_columns_first() -> None:
    wide, narrow = drawn(table_of("operators"), 116), drawn(table_of("operators"), 60)
    columns = "operator calls self CPU CPU total self GPU GPU total CPU/GPU share↓"
    assert wide[0].split() == columns.split()
    assert [row.split()[0] for row in wide[1:]] == [
        "aten::addmm", "aten::item", "aten::add_", "Optimizer.step#AdamW.step",
    ]  # fmt: skip
    assert narrow[0].split() == ["operator", "self", "CPU", "self", "GPU", "share↓"]
    assert all(len(row) <= 60 for row in narrow)


def test_an_operator_that_was_never_on_the_device_shows_a_dash_and_goes_last() -> None:
    table = table_of("operators")
    column = next(at for at, each in enumerate(table.columns) if each.heading == "self GPU")
    down = arranged(table, column, descending=True, among=range(4))
    up = arranged(table, column, descending=False, among=range(4))
    assert (down[-1], up[-1]) == (3, 3)
    assert down[:3] == up[2::-1]
    assert "—" in drawn(table, 116, column)[-1]


def test_idle_gaps_come_largest_first_and_say_what_the_host_did() -> None:
    rows = drawn(table_of("gaps"), 116)
    assert rows[1].split()[:6] == ["100", "µs", "7.90", "ms", "the", "loader"]
    assert "DataLoader" in rows[1]
    assert "a sync call" in rows[2]
    assert "aten::item" in rows[2]
    assert "—" in rows[3]


def test_names_are_sorted_from_a_and_numbers_from_the_largest() -> None:
    table = table_of("kernels")
    assert largest_first(table, 0) is False
    assert largest_first(table, 2) is True
    names = [row.split()[0] for row in drawn(table, 116, 0)[1:]]
    assert names == sorted(names, key=str.lower)


def test_a_filter_wants_every_word_in_any_order_and_case() -> None:
    texts = searched(table_of("kernels"))
    assert matching(texts, "GEMM sm90") == [0]
    assert matching(texts, "communication") == [2]
    assert matching(texts, "  ") == range(4)
    assert matching(texts, "nothing") == []


def test_hostile_names_are_text() -> None:
    rows = drawn(table_of("kernels"), 116)
    evil = next(row for row in rows if "evil" in row)
    assert "\x1b" not in evil
    assert "]0;title" in evil


@pytest.mark.parametrize("width", [20, 40, 76, 96, 116, 200])
@pytest.mark.parametrize("tab", [each.id for each in TABS if each.table])
def test_rows_are_as_wide_as_their_heading_at_every_width(tab: str, width: int) -> None:
    table = table_of(tab, with_difference(FULL))
    lines = drawn(table, width)
    plan = layout(table, width, table.sort)
    assert len(table.rows) > 0
    assert {len(row) for row in lines[1:]} == {sum(wide for _, wide in plan.columns) + plan.bar}


def with_difference(context: TraceContext) -> TraceContext:
    before, after = trace_scenes.rank_report(), trace_scenes.rank_report(kernels=[])
    frame = WorkerFrame(function="decode", file="data.py", line=31, self_share=0.8, total_share=0.9)
    stacks = [WorkerStacks(rank=0, pid=7, number=None, samples=40, frames=[frame])]
    view = msgspec.structs.replace(scenes.PROFILE, worker_stacks=stacks)
    return replace(context, view=view, difference=rank_difference(before, after))


@pytest.mark.parametrize("note", ["py-spy is not installed: pip install py-spy", "rank 3 was busy", ""])
def test_the_page_of_the_workers_says_why_none_was_looked_into(note: str) -> None:
    view = msgspec.structs.replace(scenes.PROFILE, worker_stacks=[], window_notes=[note] if note else [])
    why = f": {note}" if note.startswith("py-spy") else ""
    table = table_of("workers", replace(FULL, view=view))
    assert table.empty == f"no loader worker was looked into{why}"


def test_a_heading_tells_its_column_to_the_mouse() -> None:
    table = table_of("operators")
    plan = layout(table, 116, table.sort)
    assert column_at(plan, 0) == 0
    assert column_at(plan, plan.columns[0][1] + 2) == 1
    assert column_at(plan, 500) is None


def test_an_expanded_operator_has_shapes_and_callers() -> None:
    table = table_of("operators")
    lines = [plain(part) for part in table.details(table.rows[0], 100)]
    assert lines[0] == " │ aten::addmm"
    assert any("by input shapes  GPU time" in part for part in lines)
    assert any("20.0 ms  [4096], [2048, 1024], [1024, 4096]" in part for part in lines)
    assert any("aten::linear" in part for part in lines)
    without = [plain(part) for part in table.details(table.rows[1], 100)]
    assert any("the preset shapes records them" in part for part in without)


def test_an_expanded_kernel_has_its_whole_name() -> None:
    table = table_of("kernels")
    lines = [plain(part)[3:] for part in table.details(table.rows[1], 60)]
    assert "".join(lines).startswith(trace_scenes.LONG_KERNEL)


def test_a_failed_check_says_what_is_not_to_be_believed() -> None:
    table = table_of("trust")
    assert drawn(table, 116)[1].startswith("✖ failed")
    lines = " ".join(plain(part) for part in table.details(table.rows[0], 100))
    assert "the profiler lost events" in lines
    assert "do not believe  launches, idle.launch_latency" in lines


def test_ranks_show_who_is_waited_for_and_only_columns_that_are_known() -> None:
    rows = drawn(table_of("ranks"), 116)
    assert "stall" not in rows[0]
    assert "▲ the others wait for it" in rows[2]
    assert rows[2].split()[-2:] == ["92", "%"]


def test_a_window_without_a_report_shows_what_the_hub_knows() -> None:
    context = TraceContext(view=scenes.PROFILE)
    rows = drawn(table_of("operators", context), 116)
    assert "_SingleProcessDataLoaderIter.__next__" in rows[1]
    assert "self GPU" not in rows[0]
    assert "88.0 ms" in drawn(table_of("ranks", context), 150)[1]
    assert table_of("gaps", context).empty != ""


def test_a_rank_that_could_not_be_read_says_why_in_every_tab() -> None:
    broken = trace_scenes.rank_report(error="truncated after 3 MB", operators=[], kernels=[], gaps=[])
    context = TraceContext(report=trace_scenes.report(ranks=[broken]))
    for tab in ("operators", "kernels", "gaps"):
        assert table_of(tab, context).empty == "truncated after 3 MB"


def test_the_chosen_tab_is_always_named_and_dots_stand_for_the_rest() -> None:
    for at, tab in enumerate(TABS):
        for width in (24, 60, 200):
            words = plain(tab_line(at, width))
            assert f"[{tab.title}]" in words
            assert len(words) <= width
    assert plain(tab_line(0, 34)) == "[operators] kernels  idle gaps  …"


def test_figures_that_were_never_measured_are_dashes() -> None:
    allocator = trace_scenes.rank_report().allocator
    assert allocator is not None
    figures = {row.name: row.text for row in table_of("memory").rows}
    assert figures["device allocations"] == "2"
    assert figures["allocated a step"] == "—"
    nothing = TraceContext(report=trace_scenes.report(ranks=[trace_scenes.rank_report(allocator=None)]))
    assert list(table_of("memory", nothing).rows) == []


def test_records_have_numbers_and_nested_lists() -> None:
    table = table_of("operators")
    record = table.record(table.rows[0])
    assert record["self_us"] == 4_100.0
    assert record["shapes"] == msgspec.to_builtins(trace_scenes.LINEAR.shapes)


def test_a_difference_has_the_biggest_mover_first_whatever_its_kind() -> None:
    rows = drawn(table_of("difference", with_difference(FULL)), 116)
    assert rows[0].split()[-3:] == ["before/step", "after/step", "change↓"]
    assert rows[1].startswith("sm90_xmma_gemm")
    assert rows[1].split()[-4:] == ["0.00", "µs", "−8.00", "ms"]
    assert table_of("difference", with_difference(FULL)).notes[1].startswith("before: 4 % of the launches")


def test_a_difference_to_a_window_without_a_gpu_has_dashes_and_says_why() -> None:
    with_gpu = trace_scenes.rank_report()
    without = trace_scenes.rank_report(gpu=None, idle=None, kernels=[], trust=[])
    table = table_of("difference", replace(FULL, difference=rank_difference(with_gpu, without)))
    kernels = [row for row in table.rows if row.kind in ("kernel", "GPU time", "GPU idle")]
    assert len(kernels) == 4 + 5 + 5
    for row in drawn(replace(table, rows=kernels), 116)[1:]:
        assert row.split()[-2:] == ["—", "—"]
    assert "after: nothing was recorded on a GPU, so what it did there is not known" in table.notes
    assert [row.kind for row in table.rows].index("step") < [row.kind for row in table.rows].index("kernel")
    assert "one of the two is not known" in " ".join(map(plain, table.details(kernels[0], 100)))
    assert table.record(kernels[0])["after_us"] is None


def test_workers_stacks_have_function_place_and_shares() -> None:
    table = table_of("workers", with_difference(FULL))
    assert drawn(table, 116)[1].split()[:4] == ["decode", "data.py:31", "pid", "7"]
    assert "40 looks, on a core in — of them" in " ".join(
        plain(part) for part in table.details(table.rows[0], 100)
    )
