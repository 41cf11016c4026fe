"""Pictures to exact strings: no app, no colour."""

import dataclasses

import msgspec
import pytest

from perftui.ipc.findings import Finding
from perftui.ipc.view import Shares, StepStats
from perftui.tui.glyphs import to_ascii
from perftui.tui.palette import THEMES, palette_of
from perftui.tui.renderables.chart_parts import ChartMark, tick, ticks
from perftui.tui.renderables.gauge import gauge
from perftui.tui.renderables.headline import header_line, verdict_lines
from perftui.tui.renderables.history_chart import Points, history_chart
from perftui.tui.renderables.lines import (
    Run,
    clause,
    clip,
    fit,
    frame,
    line,
    plain,
    spread,
    width_of,
    wrap,
)
from perftui.tui.renderables.phase_bar import legend, phase_bar
from perftui.tui.renderables.rank_card import RankPicture, rank_card
from perftui.tui.renderables.rank_rows import rank_heading, rank_row
from perftui.tui.renderables.rank_sheet import RankSheet, Room, rank_sheet
from perftui.tui.renderables.sparkline import sparkline
from perftui.tui.renderables.status_line import status_line
from perftui.tui.renderables.trace_headline import window_lines
from perftui.tui.state import DashboardState, Track
from tests.tui import scenes
from tests.tui.screen_text import texts

HALVES = Shares(loader_wait=0.5, forward=0.25, backward=0.25)
TRACK = Track((0, 1, 2, 3), (10.0, 20.0, 30.0, 40.0), (0.0, 0.0, 0.0, 0.0), (0, 0, 0, 0))


def test_sparkline_scales_from_zero_and_fills_from_the_right() -> None:
    assert sparkline([10, 20, 30, 40], 6) == "  ▃▅▇█"


def test_sparkline_is_not_flattened_by_one_slow_step() -> None:
    assert sparkline([10, 10, 10, 500], 4) == "▅▅▅█"


def test_sparkline_of_nothing_and_of_zeros() -> None:
    assert sparkline([], 3) == "   "
    assert sparkline([0, 0], 3) == " ▁▁"


def test_sparkline_in_ascii_keeps_its_shape() -> None:
    assert to_ascii(sparkline([10, 20, 30, 40], 4)) == ",=*#"
    assert to_ascii("▁▂▃▄▅▆▇█") == "_.,-=+*#"


def test_gauge_fills_by_eighths() -> None:
    assert plain(gauge(0.5, 4)) == "██░░"
    assert plain(gauge(0.53125, 4)) == "██▏░"
    assert plain(gauge(1.7, 4)) == "████"
    assert plain(gauge(None, 4)) == "····"


def test_phase_bar_splits_a_cell_between_two_parts() -> None:
    bar = phase_bar(HALVES, 6)
    assert plain(bar) == "████▌█"
    assert [run.back for run in bar if run.back] == ["backward"]


def test_phase_bar_in_letters_needs_no_colour() -> None:
    assert plain(phase_bar(HALVES, 8, textured=True)) == "wwwwffbb"


def test_phase_bar_of_a_step_that_was_never_measured() -> None:
    assert plain(phase_bar(Shares(), 20)) == "not measured yet    "


def test_legend_spells_out_shortens_then_drops_the_smallest_but_never_the_wait() -> None:
    assert plain(legend(HALVES, 60)) == "■ wait 50 %  ■ forward 25 %  ■ backward 25 %"
    assert plain(legend(HALVES, 42)) == "■ wait 50 %  ■ fwd 25 %  ■ bwd 25 %"
    assert plain(legend(scenes.HEALTHY, 30)) == "■ wait 0.4 %  ■ bwd 60 %"


@pytest.mark.parametrize("top_ms", [0.1, 1.2, 250.0, 300.0, 2500.0, 10_000.0])
@pytest.mark.parametrize("rows", range(2, 12))
def test_the_middle_of_an_axis_is_half_of_its_top_in_its_own_row(top_ms: float, rows: int) -> None:
    labels = ticks(top_ms, rows)
    assert labels[0] == tick(top_ms)
    (row,) = (row for row, label in labels.items() if label == tick(top_ms / 2))
    assert (rows - 1 - row) / rows <= 0.5 <= (rows - row) / rows


def test_chart_in_braille() -> None:
    points = Points(range(40), [10.0] * 20 + [20.0] * 20, [0.0] * 40)
    assert texts(history_chart(points, 28, 4)) == [
        "  20 ms           ⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿",
        "  10 ms ⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿",
        "        ⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿",
        "     0  0            step 39",
    ]


def test_chart_in_blocks_with_a_mark_and_a_capped_step() -> None:
    walls = [10.0] * 16
    walls[8] = 100.0
    drawn = texts(
        history_chart(Points(range(16), walls, [0.0] * 16), 24, 3, "block", [ChartMark(4, "epoch")])
    )
    assert drawn == [
        "  20 ms         ▲",
        "  10 ms ████████████████",
        "     0  0   ◆    step 15",
    ]


def test_chart_shows_the_wait_without_colour() -> None:
    points = Points(range(16), [10.0] * 16, [10.0] * 16)
    drawn = texts(history_chart(points, 24, 3, "block", textured=True))
    assert drawn[1] == "   5 ms ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒"


def test_chart_without_steps_or_room() -> None:
    assert plain(history_chart(Points([], [], []), 30, 4)[0]).rstrip() == "no step yet"
    assert history_chart(Points(range(3), [1.0] * 3, [0.0] * 3), 20, 2) == []


def test_lines_are_clipped_padded_and_wrapped_by_cells() -> None:
    assert plain(clip(line("abcdef"), 4)) == "abc…"
    assert plain(clip(line("日本語"), 4)) == "日…"
    assert plain(fit(line("ab"), 4)) == "ab  "
    assert plain(spread(line("left side"), line("right"), 14)) == "left si… right"
    assert texts(wrap("one two three", 7)) == ["one two", "three"]
    assert texts(wrap("it waits 19 % more", 11)) == ["it waits", "19 % more"]


def test_frame_has_its_title_in_the_upper_edge() -> None:
    assert texts(frame([line("body")], 16, 3, line(Run("title")))) == [
        "╭─ title ──────╮",
        "│ body         │",
        "╰──────────────╯",
    ]


def test_rank_card_at_56_columns() -> None:
    card = texts(rank_card(RankPicture(scenes.rank(1, marks=["input.workers"]), TRACK), 56, 6))
    assert card == [
        "╭─ rank 1 cpu  ▲ input.workers ─────────── ● training ─╮",
        "│ step 142 ms  p50 140  p99 188          225 samples/s │",
        "│                                                 ▃▅▇█ │",
        "│ ███████████████████████████████████████▏███▍██████▊▍ │",
        "│ ■ wait 75 %  ■ fwd 8.3 %  ■ bwd 14 %  ■ other 1.2 %  │",
        "╰──────────────────────────────────────────────────────╯",
    ]


@pytest.mark.parametrize(
    ("now_ms", "p50", "p99", "card", "sheet"),
    [
        (
            142.3,
            139.8,
            188.4,
            "step 142 ms  p50 140  p99 188",
            "step 142 ms  mean 140  p50 140",
        ),
        (9_000.0, 8_900.0, 9_800.0, "step 9000 ms  p50 8900  p99 9800", "step 9000 ms  mean 8900  p50 8900"),
        (12_310.0, 12_310.0, 14_100.0, "step 12.3 s  p50 12.3  p99 14.1", "step 12.3 s  mean 12.3  p50 12.3"),
        (9_000.0, 9_000.0, 14_100.0, "step 9.00 s  p50 9.00  p99 14.1", "step 9.00 s  mean 9.00  p50 9.00"),
        (None, 140.0, 188.0, "step — ms  p50 140  p99 188", "step — ms  mean 140  p50 140"),
        (0.04, 0.04, 0.052, "step 40.0 µs  p50 40.0  p99 52.0", "step 40.0 µs  mean 40.0  p50 40.0"),
        (3.6e7, 3.6e7, 7.2e7, "step 10.0 h  p50 10.0  p99 20.0", "step 10.0 h  mean 10.0  p50 10.0"),
    ],
)
def test_times_of_one_line_have_one_unit_which_stands_there(
    now_ms: float | None, p50: float, p99: float, card: str, sheet: str
) -> None:
    view = scenes.rank(0, now_ms=now_ms, step_ms=StepStats(mean=p50, p50=p50, p90=p99, p99=p99))
    assert texts(rank_card(RankPicture(view, Track()), 70, 5))[1].startswith(f"│ {card} ")
    assert plain(rank_sheet(RankSheet(view), Room(116, 30))[0]).startswith(sheet)


def test_rank_card_says_what_was_never_measured() -> None:
    bare = scenes.rank(0, now_ms=None, step_ms=None, samples_per_s=None, steps_per_s=None, shares=Shares())
    card = texts(rank_card(RankPicture(bare, Track()), 60, 5))
    assert card[1] == "│ step —  p50 —  p99 —              — samples/s  — steps/s │"
    assert "not measured yet" in card[2]


def test_rank_card_names_silence_and_drops() -> None:
    view = scenes.rank(0, state="silent", age_s=12.4, dropped=1200)
    assert "! silent 12 s  1,200 dropped ─╮" in plain(rank_card(RankPicture(view, Track()), 70, 5)[0])


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_rank_rows_line_up_under_their_heading(width: int) -> None:
    row = rank_row(RankPicture(scenes.rank(5, marks=["rank.imbalance"]), TRACK), width, selected=True)
    heading = rank_heading(width)
    assert width_of(row) == width_of(heading) == width
    assert plain(row).startswith("▶▲")
    end = plain(heading).index("step ms") + len("step ms")
    assert plain(row)[:end].endswith(" 142")


def state_of(**changes: object) -> DashboardState:
    view = scenes.starved()
    header = msgspec.structs.replace(view.header, **changes)
    return DashboardState(
        "demo-1", header=header, ranks=tuple(view.ranks), findings=tuple(view.findings), connected=True
    )


def test_header_drops_the_least_needed_first() -> None:
    assert plain(header_line(state_of(), 120)).split("  ")[:6] == [
        " perftui resnet18-jpeg", "● training", "step 412", "epoch 1: 28/384", "epoch left 2:13", "loss 2.31",
    ]  # fmt: skip
    assert plain(header_line(state_of(), 80)) == (
        " perftui resnet18-jpeg  ● training  step 412  epoch 1: 28/384  loss 2.31   4:12 "
    )
    assert plain(header_line(state_of(), 44)) == " perftui resnet18-jpeg  ● training     4:12 "


def test_the_header_says_that_a_terminal_is_shown_less_than_there_is() -> None:
    wide = plain(header_line(state_of(), 120, slow_s=2))
    assert "step 412  slow terminal: one update in 2 s  epoch 1" in wide
    narrow = plain(header_line(state_of(), 80, slow_s=2))
    assert narrow.startswith(" perftui resnet18-jpeg  ● training  step 412  one update in 2 s")


def test_verdict_says_what_is_wrong_and_what_r_would_do() -> None:
    first, second = texts(verdict_lines(state_of(), 90))
    assert first.startswith(" ▲ CRITICAL The training waits for data 75 % of each step")
    assert second.rstrip() == "   r relaunches with loader.num_workers 0 → 2: expected 2.1×, at most 4.0×"


def test_a_long_sentence_ends_with_a_clause_and_not_within_a_word() -> None:
    sentence = "The training waits 83 % of each step for its loader, which has no workers: it reads alone."
    assert clause(sentence, 200) == sentence
    assert clause(sentence, 80) == "The training waits 83 % of each step for its loader, which has no workers"
    assert clause(sentence, 60) == "The training waits 83 % of each step for its loader"
    assert clause(sentence, 30) == "The training waits 83 % of ea…"


def test_before_the_first_step_the_last_output_is_told_and_no_finding() -> None:
    waiting = dataclasses.replace(state_of(state="waiting", step=None), output=("making 768 files", ""))
    first, second = texts(verdict_lines(waiting, 90))
    assert first.rstrip() == " ○ WAITING for the first training step"
    assert second.rstrip() == "   last output: making 768 files"


def test_a_replay_tells_its_keys_while_there_is_nothing_to_see() -> None:
    replayed = state_of(state="waiting", replay=True, message="replay, speed 1")
    assert (
        texts(verdict_lines(replayed, 90))[1].strip()
        == "replay, speed 1 · ←→ go back or on, [] play slower or faster, space pauses"
    )


def test_verdict_of_an_ended_run_says_how_it_ended() -> None:
    ended = state_of(state="stopped", exit_code=-15, stopped_by="user", message="ended by SIGTERM")
    first, second = texts(verdict_lines(ended, 80))
    assert first.rstrip() == " ■ RUN ENDED stopped by the user after 4:12"
    assert second.rstrip() == "   ended by SIGTERM"


def test_what_perftui_costs_is_told_only_when_it_was_measured() -> None:
    assert plain(status_line(state_of(), 80)).strip() == "perftui costs 11.6 µs a step (0.008 %)"
    assert plain(status_line(state_of(overhead_us=None), 80)).strip() == "perftui dropped nothing"
    dropping = dataclasses.replace(state_of(overhead_us=None), ranks=(scenes.rank(0, dropped=1200),))
    assert plain(status_line(dropping, 80)).strip() == "1,200 steps dropped"


def test_what_perftui_costs_is_told_with_its_noise_once_it_slept() -> None:
    slept = state_of(shadow_us=31.2, shadow_se_us=8.7, step_us=4200.0)
    assert plain(status_line(slept, 80)).strip() == "perftui costs 31 ± 9 µs a step (of 4.20 ms)"
    slow = state_of(shadow_us=23_900.0, shadow_se_us=3000.0, step_us=200_000.0)
    assert plain(status_line(slow, 80)).strip() == "perftui costs 23.9 ± 3.0 ms a step (of 200 ms)"


@pytest.mark.parametrize(
    ("cost_us", "noise_us", "told"),
    [
        (-1018.0, 1534.0, "±1.53 ms"),
        (-2.04, 6.0, "±6.00 µs"),
        (11.0, 6.0, "±6.00 µs"),
        (0.0, 0.0, "±0.00 µs"),
    ],
)
def test_what_is_no_more_than_its_noise_is_no_cost(cost_us: float, noise_us: float, told: str) -> None:
    state = state_of(shadow_us=cost_us, shadow_se_us=noise_us, step_us=54_500.0)
    wide, narrow = (plain(status_line(state, width)).strip() for width in (120, 80))
    assert wide.startswith(f"perftui costs too little to measure here: within {told} a step")
    assert narrow.startswith(f"perftui's cost is within {told} a step")


def test_on_a_busy_host_the_clock_in_the_hooks_tells_no_cost() -> None:
    busy = Finding(code="self.contended", severity="warning", share=0.0, sentence="Other work.", evidence=[])
    state = dataclasses.replace(state_of(overhead_us=23_900.0), findings=(busy,))
    told = plain(status_line(state, 80)).strip()
    assert told == "perftui's cost: not to be measured on a busy host"
    calm = dataclasses.replace(state, findings=(msgspec.structs.replace(busy, severity="info"),))
    assert plain(status_line(calm, 80)).strip().startswith("perftui costs 23.9 ms a step")


def test_a_window_that_starts_as_soon_as_it_can_names_no_step() -> None:
    armed = msgspec.structs.replace(scenes.PROFILE, state="armed", start_step=-1)
    first, second = texts(window_lines(armed, 90))
    assert first == " ○ waiting for the next step · c cancels it"
    assert second == "   window w1 · the next 3 steps · 1 rank"
    assert "steps 421 to 423" in texts(window_lines(scenes.PROFILE, 90))[-1]


def test_monochrome_has_no_colours_at_all() -> None:
    palette = palette_of(THEMES[-1], monochrome=True)
    assert all(palette.style(role, "other").color is None for role in palette.colours)


def test_tokens_a_second_stand_beside_the_samples_of_a_token_model() -> None:
    view = scenes.rank(0)
    texts_of = {
        tokens: plain(
            rank_card(RankPicture(msgspec.structs.replace(view, tokens_per_s=tokens), Track()), 110, 6)[1]
        )
        for tokens in (None, 81234.6)
    }
    assert "81,235 tokens/s" in texts_of[81234.6]
    assert "samples/s" in texts_of[81234.6]
    assert "tokens/s" not in texts_of[None]
    heading, row = plain(rank_heading(220)), plain(rank_row(RankPicture(view, Track()), 220))
    end = heading.index("tokens/s") + len("tokens/s")
    assert row[:end].endswith(" —")
