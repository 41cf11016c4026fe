"""The profile on the screen, from files: keys in, text out."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from textual.binding import Binding
from textual.pilot import Pilot

from perftui.ipc.errors import UsageError
from perftui.ipc.trace_report import TraceReport
from perftui.tui import keys
from perftui.tui.glyphs import Glyphs
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_tabs import tabs_of
from perftui.tui.trace_app import Shown, TraceApp, run_trace_app
from tests.tui import trace_scenes
from tests.tui.screen_text import shown, text, until

SMALL, LARGE = (80, 24), (120, 40)
pytestmark = pytest.mark.usefixtures("places")
Play = Callable[[TraceApp, Pilot[None]], Awaitable[None]]


def with_report(
    path: Path,
    play: Play,
    size: tuple[int, int] = LARGE,
    before: Path | None = None,
    glyphs: Glyphs | None = None,
) -> None:
    """Show a report and play a scene."""

    async def scene() -> None:
        earlier = Shown(before, "before") if before else None
        app = TraceApp(Shown(path, "w1.json"), earlier, glyphs or Glyphs())
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.pause()
            await play(app, pilot)

    asyncio.run(scene())


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_the_first_screen_answers_what_it_means_and_where_the_time_went(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await shown(pilot, "◆ The GPU is idle 45 % of the time")
        for words in ("✖ 1 of 4 checks failed", "idle 45 %:", "■ loader 30 %", "[operators]", "aten::addmm"):
            await shown(pilot, words)
        await until(pilot, lambda: "q leave" in text(app).splitlines()[-1], "the last key of the footer")
        footer = text(app).splitlines()[-1]
        assert all(f"{key} " in footer for key in ("enter", "<>", "tab", "/", "t", "d", "e", "o", "?"))

    with_report(trace_scenes.written(tmp_path, trace_scenes.report()), play, size)


def test_every_tab_is_reached_and_says_something(tmp_path: Path) -> None:
    words = [
        "aten::addmm", "sm90_xmma_gemm", "the loader", "cudaStreamSynchronize", "allreduce", "Pageable",
        "device allocations", "launches a step", "class of kernels", "step 422", "no loader worker", "rank 0",
        "lost launches",         "GPU 0 stream 7", "thread 4000 python", "there is no window before this one",
    ]  # fmt: skip

    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        for word in words:
            await shown(pilot, word)
            await pilot.press("tab")
        await shown(pilot, "[operators]")
        await pilot.press("shift+tab")
        await shown(pilot, "[difference]")

    with_report(trace_scenes.written(tmp_path, trace_scenes.report()), play)


def test_rows_are_sorted_by_any_column_and_the_other_way_round(tmp_path: Path) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        def first() -> str:
            row = next(line for line in text(app).splitlines() if "│ aten" in line or "│ Optim" in line)
            return row.split()[1]

        await shown(pilot, "share↓")
        assert first() == "aten::addmm"
        await pilot.press("greater_than_sign")
        await shown(pilot, "operator↑")
        assert first() == "aten::add_"
        await pilot.press("i")
        await shown(pilot, "operator↓")
        assert first() == "Optimizer.step#AdamW.step"
        await pilot.press("3")
        await shown(pilot, "self CPU↓")
        assert first() == "aten::item"
        await pilot.press("3")
        await shown(pilot, "self CPU↑")
        await pilot.click("#rows", offset=(100, 1))
        await until(pilot, lambda: "self CPU↑" not in text(app), "another column")

    with_report(trace_scenes.written(tmp_path, trace_scenes.report()), play)


def test_a_filter_works_while_it_is_typed_and_is_shown_afterwards(tmp_path: Path) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await shown(pilot, "aten::item")
        await pilot.press("slash", *"add")
        await until(pilot, lambda: "aten::item" not in text(app), "fewer rows")
        await shown(pilot, "aten::add_")
        await pilot.press("enter")
        screen = await shown(pilot, "/add 1/2 of 4")
        assert "aten::item" not in screen
        await pilot.press("slash", *"zzz")
        await shown(pilot, "nothing matches zzz")
        await pilot.press("escape")
        await shown(pilot, "aten::item")

    with_report(trace_scenes.written(tmp_path, trace_scenes.report()), play)


def test_a_row_is_expanded_to_shapes_and_callers_and_folded_up(tmp_path: Path) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await shown(pilot, "aten::addmm")
        await pilot.press("enter")
        screen = await shown(pilot, "[4096], [2048, 1024], [1024, 4096]")
        assert "by caller" in screen
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: "by caller" not in text(app), "the row folded up")

    with_report(trace_scenes.written(tmp_path, trace_scenes.report()), play)


def test_60000_rows_are_walked_through(tmp_path: Path) -> None:
    rows = [trace_scenes.operator(f"aten::op{n}", 60_000.0 - n, None) for n in range(60_000)]
    many = trace_scenes.report(ranks=[trace_scenes.rank_report(operators=rows)])

    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await shown(pilot, "1/60,000")
        await pilot.press("end")
        screen = await shown(pilot, "60,000/60,000")
        assert "aten::op59999" in screen
        await pilot.press("pageup", "up")
        await shown(pilot, "59,970/60,000")
        await pilot.press("home", "pagedown", "down", "enter")
        await shown(pilot, "called by nothing")

    with_report(trace_scenes.written(tmp_path, many), play)


def test_ranks_are_changed_and_the_tab_stays(tmp_path: Path) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await shown(pilot, "rank 0 of 2")
        await pilot.press(*["tab"] * 4)
        await shown(pilot, "allreduce")
        await pilot.press("l")
        screen = await shown(pilot, "rank 1 of 2")
        assert "◆ rank 1: Rank 1 computes for longer." in screen
        assert "no communication in this window" in screen
        await pilot.press("left")
        await shown(pilot, "allreduce")

    with_report(trace_scenes.written(tmp_path, trace_scenes.two_ranks()), play)


def test_the_timeline_is_moved_by_keys_and_tells_a_span(tmp_path: Path) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await shown(pilot, "aten::addmm")
        await pilot.press("t")
        await shown(pilot, "│step 421")
        await pilot.press("right_square_bracket")
        await shown(pilot, "│step 422")
        await pilot.press("left_square_bracket", "full_stop")
        await shown(pilot, "gemm  from 10.0 µs for 15.0 µs")
        await pilot.press("enter")
        screen = await shown(pilot, "launched by aten::addmm, 0.500 µs before it began")
        assert "15.0 µs (15,000 ns)" in screen
        await pilot.press("escape", "0")
        await shown(pilot, "│step 423")
        await pilot.press("down", "down", "home", "plus", "plus", "plus")
        await shown(pilot, "loader  from 0.00 µs for 8.00 µs")

    with_report(trace_scenes.written(tmp_path, trace_scenes.report()), play)


def test_a_row_that_lies_in_time_is_gone_to_on_the_timeline(tmp_path: Path) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press(*["tab"] * 9)
        await shown(pilot, "[steps]")
        await pilot.press("down", "t")
        await shown(pilot, "[timeline]")
        await shown(pilot, "▶ at")

    document = trace_scenes.report()
    steps = trace_scenes.timeline().steps
    rank = msgspec.structs.replace(document.ranks[0], steps=steps)
    with_report(trace_scenes.written(tmp_path, trace_scenes.report(ranks=[rank])), play)


def test_two_windows_are_compared_with_the_biggest_mover_first(tmp_path: Path) -> None:
    before = trace_scenes.written(tmp_path / "before", trace_scenes.report())
    faster = trace_scenes.rank_report(kernels=[trace_scenes.kernel(trace_scenes.GEMM, "gemm", 12_000.0)])
    after = trace_scenes.written(tmp_path / "after", trace_scenes.report(ranks=[faster]))

    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        screen = await shown(pilot, "since before")
        await shown(pilot, "−4.00 ms")
        await shown(pilot, "▲ a few steps of each")
        await shown(pilot, "▲ before: 4 % of the launches")
        rows = [line for line in text(app).splitlines() if line.startswith("│ ") and "/step" not in line]
        rows = [row for row in rows if "▲" not in row]
        assert "ncclDevKernel" in rows[0]
        assert "−4.40 ms" in rows[0]
        assert "sm90_xmma_gemm" in rows[1]
        assert "8.00 ms" in rows[1]
        assert "since before" in screen

    with_report(after, play, before=before)


def test_o_tells_where_the_trace_is_and_how_to_open_it(tmp_path: Path) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await shown(pilot, "aten::addmm")
        await pilot.press("o")
        screen = await shown(pilot, "https://ui.perfetto.dev")
        assert "/runs/demo-1/profiles/w1/rank0.pt.trace.json.gz" in screen
        assert "scp gpu07:" in screen
        await pilot.press("escape")
        await until(pilot, lambda: "perfetto" not in text(app), "the sheet closed")

    with_report(trace_scenes.written(tmp_path, trace_scenes.report()), play)


def test_e_writes_what_is_on_the_screen_and_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await shown(pilot, "aten::addmm")
        await pilot.press("slash", *"aten", "enter", "e")
        await shown(pilot, "operators: 3 rows of 4")
        await pilot.press("c")
        await until(pilot, lambda: len(list(folder.iterdir())) == 1, "the CSV file")
        await pilot.press("e", "j")
        await until(pilot, lambda: len(list(folder.iterdir())) == 2, "the JSON file")
        await pilot.press("e", "j")
        await until(pilot, lambda: len(list(folder.iterdir())) == 3, "another JSON file")
        await pilot.press("e", "escape")

    with_report(trace_scenes.written(tmp_path / "w1", trace_scenes.report()), play)
    stem = "perftui-w1-rank0-operators"
    assert sorted(path.name for path in folder.iterdir()) == [f"{stem}-2.json", f"{stem}.csv", f"{stem}.json"]
    rows = (folder / f"{stem}.csv").read_text().splitlines()
    assert rows[0] == "name,count,total_us,self_us,device_us,self_device_us,share,host_per_device"
    assert rows[1].startswith("aten::addmm,60,5740.0,4100.0,24000.0,")
    assert [row["name"] for row in json.loads((folder / f"{stem}.json").read_text())] == [
        "aten::addmm", "aten::item", "aten::add_",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "the report cannot be read: No such file"),
        (b"{]", "not a report"),
        (b"\x1f\x8bbroken", "not a report"),
        (b'{"schema": 99}', "schema 99"),
        (b"", "not a report"),
    ],
)
def test_a_report_that_cannot_be_read_says_why(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "report.json"
    if content is not None:
        path.write_bytes(content)

    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: words in " ".join(text(app).replace("│", " ").split()), words)
        await pilot.press("t", "d", "e", "o", "escape", "slash", "x", "enter")

    with_report(path, play)


def test_a_timeline_that_is_missing_says_why_and_the_rest_works(tmp_path: Path) -> None:
    path = trace_scenes.written(tmp_path, trace_scenes.report())
    (tmp_path / "timeline-rank0.json").unlink()

    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await shown(pilot, "aten::addmm")
        await pilot.press("t")
        await shown(pilot, "the timeline cannot be")  # behind a path, whose length is not known
        await pilot.press("right", "plus", "enter", "right_square_bracket", "tab")
        await shown(pilot, "[events]")

    with_report(path, play)


@pytest.mark.parametrize("document", [TraceReport(), trace_scenes.on_cpu()])
def test_a_window_without_a_device_or_without_anything_breaks_no_tab(
    tmp_path: Path, document: TraceReport
) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.pause(0.2)
        for _ in tabs_of(TraceContext(report=document)):
            await pilot.press("tab", "enter", "down", "escape", "i", "1", "h")
        await shown(pilot, "[operators]")

    with_report(trace_scenes.written(tmp_path, document), play)


def test_ascii_reaches_every_cell(tmp_path: Path) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await shown(pilot, "aten::addmm")
        for key in (*["tab"] * 16, "t", "enter", "escape", "o", "escape", "question_mark", "escape", "slash"):
            await pilot.press(key)
            await pilot.pause()
            assert text(app).isascii(), text(app)

    glyphs = Glyphs(ascii=True, chart="block", textured=True)
    with_report(trace_scenes.written(tmp_path, trace_scenes.report()), play, glyphs=glyphs)


@pytest.mark.parametrize("size", [(20, 5), (40, 12), (60, 16)])
def test_a_tiny_terminal_shows_what_fits(tmp_path: Path, size: tuple[int, int]) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await shown(pilot, "perftui")
        for _ in range(16):
            await pilot.press("tab", "enter", "escape")
        await pilot.resize_terminal(*LARGE)
        await shown(pilot, "aten::addmm")

    with_report(trace_scenes.written(tmp_path, trace_scenes.report()), play, size)


def test_help_has_every_key_and_q_leaves_with_code_0(tmp_path: Path) -> None:
    async def play(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        seen = ""
        for _ in range(12):
            seen += " ".join(await shown(pilot, "help")).replace(" ", "")
            await pilot.press("pagedown")
        for table in (keys.TRACE, keys.TRACE_TABLE, keys.TIMELINE, keys.FILTER, keys.ALONE):
            for key in table:
                assert isinstance(key, Binding)
                assert key.tooltip.replace(" ", "")[:30] in seen, key
        await pilot.press("escape", "q")
        await until(pilot, lambda: app.return_code == 0, "the end")

    with_report(trace_scenes.written(tmp_path, trace_scenes.report()), play)


def test_without_a_terminal_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="perftui trace --json FILE"):
        run_trace_app(tmp_path / "report.json")
