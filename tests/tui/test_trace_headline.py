"""The head of a profile: the sentence, a bar that is whole, the badge of trust."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from perftui.ipc.trace_report import GpuShares, TrustCheck
from perftui.trainer.profiling import trust, undistorted
from perftui.tui.renderables.lines import plain, width_of
from perftui.tui.renderables.stacked_bar import stacked_bar
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_headline import headline, trust_badge, where_parts
from perftui.tui.renderables.trace_window import RANKS, rank_rows
from tests.tui import scenes, trace_scenes
from tests.tui.screen_text import texts


def test_the_parts_of_a_device_window_sum_to_one() -> None:
    parts = where_parts(trace_scenes.rank_report(), None)
    assert sum(part.share for part in parts) == pytest.approx(1.0)
    assert [part.short for part in parts] == [
        "comp", "both", "comm", "copy", "loader", "sync", "host", "launch", "dep",
    ]  # fmt: skip
    assert len({part.letter for part in parts}) == len(parts)


def test_what_a_report_leaves_open_is_a_part_of_its_own() -> None:
    half = GpuShares(compute_only=0.5, overlap=0, comm_exposed=0, mem_exposed=0, idle=0.2)
    parts = where_parts(trace_scenes.rank_report(gpu=half, idle=None), None)
    assert [(part.name, round(part.share, 3)) for part in parts] == [
        ("computing", 0.5), ("idle: reason unknown", 0.2), ("not told", 0.3),
    ]  # fmt: skip


def test_without_a_device_the_bar_is_of_the_hosts_time() -> None:
    parts = where_parts(trace_scenes.on_cpu().ranks[0], None)
    assert [(part.short, round(part.share, 3)) for part in parts] == [
        ("loader", 0.73),
        ("opt", 0.02),
        ("rest", 0.25),
    ]
    assert where_parts(None, None) == []
    unknown = trace_scenes.rank_report(gpu=None, loader_share=None, optimizer_share=None)
    assert where_parts(unknown, None) == []


def test_the_head_of_a_full_report() -> None:
    lines = headline(TraceContext(report=trace_scenes.report()), 120)
    assert texts(lines)[0].startswith("◆ The GPU is idle 45 % of the time")
    assert "steps 421 to 423 · rank 0 · NVIDIA H200 · 60,312 events" in texts(lines)[-4]
    assert texts(lines)[-4].endswith("✖ 1 of 4 checks failed: launches without their kernels")
    assert width_of(lines[-3]) == 118
    assert texts(lines)[-1] == (
        "  idle 45 %: ■ loader 30 %  ■ sync call 8.0 %  ■ host 4.0 %  ■ launch 2.0 %  ■ dependency 1.0 %"
    )


def test_every_part_is_named_at_80_columns() -> None:
    lines = texts(headline(TraceContext(report=trace_scenes.report()), 80))
    legend = " ".join(lines[-2:])
    for name in ("comp", "both", "comm", "copy", "loader", "sync", "host", "launch", "dep"):
        assert f"■ {name} " in legend
    assert all(len(part) <= 80 for part in lines)


def test_the_bar_in_letters_needs_no_colour() -> None:
    bar = plain(stacked_bar(where_parts(trace_scenes.rank_report(), None), 100, textured=True))
    assert bar == "c" * 40 + "b" * 5 + "x" * 6 + "m" * 4 + "l" * 30 + "y" * 8 + "h" * 4 + "n" * 2 + "d"


def check(name: str, passed: bool | None) -> TrustCheck:
    return TrustCheck(name=name, passed=passed, value=None, text="")


def test_every_check_that_can_fail_has_words() -> None:
    sources = [Path(module.__file__ or "").read_text() for module in (trust, undistorted)]
    names = {name for source in sources for name in re.findall(r'name="(\w+)"', source)}
    assert {"distortion", "truncated"} < names
    told = {name: plain(trust_badge([check(name, False)])) for name in names}
    assert all(words.rpartition(": ")[2] != name for name, words in told.items())
    assert told["distortion"] == "✖ 1 of 1 checks failed: the profiler slowed the steps"


def test_the_badge_of_trust_names_what_failed() -> None:
    assert plain(trust_badge([])) == "○ not checked"
    assert plain(trust_badge([check("a", None)])) == "○ not checked"
    assert plain(trust_badge([check("a", True), check("b", None)])) == "✔ 1 check passed, 1 not asked"
    failed = [check(name, False) for name in ("start_skew", "b", "c", "d")]
    assert plain(trust_badge(failed)) == "✖ 4 of 4 checks failed: the ranks began apart, b, c and 1 more"


def test_the_sentence_of_another_rank_is_shown_when_it_is_chosen() -> None:
    report = trace_scenes.two_ranks()
    assert texts(headline(TraceContext(report=report), 120))[0] == "◆ The others wait for rank 1."
    assert (
        texts(headline(TraceContext(report=report, rank=1), 120))[0]
        == "◆ rank 1: Rank 1 computes for longer."
    )


def test_windows_of_one_rank_are_called_so() -> None:
    context = TraceContext(report=replace(trace_scenes.two_ranks(), windows=True), rank=1)
    lines = texts(headline(context, 120))
    assert lines[0] == "◆ window 1: Rank 1 computes for longer."
    assert any("· window 1 of 2 ·" in each for each in lines)
    assert [RANKS[0].text(row).split("  ")[0] for row in rank_rows(context)] == ["window 0", "window 1"]


def test_a_rank_that_could_not_be_read_says_so_at_the_top() -> None:
    broken = trace_scenes.rank_report(error="truncated", gpu=None, loader_share=None, optimizer_share=None)
    assert texts(headline(TraceContext(report=trace_scenes.report(ranks=[broken])), 80))[0] == "✖ truncated"


def test_before_the_report_the_hubs_words_stand_there_and_why_there_is_no_more() -> None:
    lines = texts(headline(TraceContext(view=scenes.PROFILE, why="reading the report …"), 80))
    assert lines[0].startswith("◆ Loading takes 74 %")
    assert lines[2] == "   reading the report …"
    assert texts(headline(TraceContext(), 80))[0] == " ○ no profiling window yet"
    why = "no profiling window yet: p opens one, 3 steps on all ranks; P asks what to record"
    assert texts(headline(TraceContext(why=why), 100)) == [f" ○ {why}"]
    assert texts(headline(TraceContext(why=why), 80)) == [f" ○ {why.partition(';')[0]}"]


@pytest.mark.parametrize("width", [8, 20, 40, 60, 79, 81, 160])
def test_the_head_fits_at_every_width(width: int) -> None:
    for context in (
        TraceContext(report=trace_scenes.two_ranks()),
        TraceContext(report=trace_scenes.on_cpu()),
    ):
        assert all(width_of(part) <= width for part in headline(context, width)[2:])
