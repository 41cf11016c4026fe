"""Names in characters that take two cells, or none, keep the columns of whatever stands beside them."""

from rich.cells import cell_len

from perftui.ipc.run_lines import RunLine
from perftui.ipc.trace_report import TimelineLane, TraceTimeline
from perftui.trainer.text_table import table, width_of
from perftui.tui.glyphs import Glyphs
from perftui.tui.picker import RunList
from perftui.tui.renderables.lines import plain
from perftui.tui.renderables.timeline_index import timeline_index
from perftui.tui.renderables.timeline_lines import timeline_lines
from perftui.tui.renderables.timeline_view import TimeView

NAMES = ("plain", "データ訓練", "한국어-모델", "cafe\u0301", "データ" * 30)


def _place(text: str, words: str) -> int:
    return cell_len(text[: text.index(words)])


def test_the_list_of_runs() -> None:
    runs = [
        RunLine(run_id="r", name=name, pid=7, state="running", started=0.0, command=["python", f"{name}.py"])
        for name in NAMES
    ]
    for width in (80, 120):
        drawn = [plain(row) for row in RunList(Glyphs(), runs).lines(width, 9)]
        assert {cell_len(row) for row in drawn} == {width}
        rows = drawn[2:-1][: len(NAMES)]
        assert len({_place(row, "running") for row in rows}) == 1
        assert len({_place(row, "python") for row in rows}) == 1
        assert all(row.endswith(" │") for row in rows)


def test_tables_in_plain_text() -> None:
    rows = [(name, str(at), "end") for at, name in enumerate(NAMES)]
    for right in (frozenset[int](), frozenset({0})):
        lines = table(rows, right)
        assert len({_place(line, "end") for line in lines}) == 1
    assert [width_of(name) for name in NAMES] == [cell_len(name) for name in NAMES]
    assert table([("a", "b"), ("cc", "d")]) == ["a   b", "cc  d"]


def test_spans_of_a_timeline() -> None:
    names: list[str] = list(NAMES)
    lane = TimelineLane(
        kind="stream",
        title="lane",
        name=list(range(len(names))),
        start_ns=[1000 * at for at in range(len(names))],
        duration_ns=[900] * len(names),
        depth=[0] * len(names),
    )
    window_ns = 1000 * len(names)
    timeline = TraceTimeline(
        window_ns=window_ns, names=names, classes=["gemm"] * len(names), lanes=[lane], steps=[]
    )
    index = timeline_index(timeline)
    for width in range(60, 200):
        for row in timeline_lines(index, TimeView(0, window_ns), 0, width, 8, textured=False):
            assert cell_len(plain(row)) <= width, plain(row)
