"""What stands on the pages, as text: findings that hang together, settings, experiments, output, steps."""

import msgspec
import pytest

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.findings import Evidence, Finding, ShareOf, nested
from perftui.ipc.settings import SettingValue
from perftui.ipc.step_history import StepHistory
from perftui.trainer.hub.step_blocks import step_history
from perftui.tui.renderables.band_chart import BAND_ROLE, band_chart, band_key
from perftui.tui.renderables.chart_parts import ChartMark
from perftui.tui.renderables.distribution import distribution
from perftui.tui.renderables.figure_grid import Figure, figure_grid
from perftui.tui.renderables.finding_blocks import finding_blocks, finding_text, relaunch_command
from perftui.tui.renderables.finding_lines import finding_lines
from perftui.tui.renderables.ledger_blocks import changed_command
from perftui.tui.renderables.ledger_columns import LedgerOrder, change_of, ordered
from perftui.tui.renderables.lines import plain, width_of
from perftui.tui.renderables.output_lines import (
    TOP,
    Place,
    drawn,
    found_at,
    last_page,
    matching,
    moved,
    place_of_match,
)
from perftui.tui.renderables.settings_table import setting_rows
from perftui.tui.state import DashboardState, apply
from perftui.tui.step_window import StepWindow
from tests.tui import page_scenes, scenes
from tests.tui.screen_text import texts


def state() -> DashboardState:
    update = Update(number=1, snapshot=True, view=page_scenes.pages(), unjudged=page_scenes.UNJUDGED)
    return apply(DashboardState(run_id="demo-1"), update)


def page(of: DashboardState, width: int = 76) -> list[str]:
    return [text for block in finding_blocks(of, width) for text in texts(list(block.lines))]


def test_a_consequence_stands_below_its_cause_and_says_so() -> None:
    drawn_ = page(state())
    cause = next(at for at, text in enumerate(drawn_) if "input.too_many_workers" in text)
    follower = next(at for at, text in enumerate(drawn_) if "└ ! WARNING input.epoch_start" in text)
    other = next(at for at, text in enumerate(drawn_) if "sync.each_step" in text)
    assert cause < follower < other
    assert drawn_[follower].startswith("    └")
    assert "follows from input.too_many_workers: deal with that first" in "\n".join(drawn_)


def test_the_overview_shows_it_below_its_cause_too() -> None:
    drawn_ = texts(finding_lines(state(), 60))
    assert any(text.startswith("    └ ! input.epoch_start") for text in drawn_)
    order = [
        at for name in ("too_many", "epoch_start", "sync.each") for at, t in enumerate(drawn_) if name in t
    ]
    assert order == sorted(order)


def test_one_thing_in_two_units_is_named_once() -> None:
    both = [
        Evidence(name="loader wait", value=0.42, unit="share", window_steps=200),
        Evidence(name="loader wait", value=31.0, unit="ms", window_steps=200),
    ]
    view = page_scenes.pages()
    finding = msgspec.structs.replace(view.findings[0], evidence=both)
    told = Update(number=1, snapshot=True, view=msgspec.structs.replace(view, findings=[finding]))
    drawn_ = page(apply(DashboardState(run_id="demo-1"), told))
    at = next(number for number, text in enumerate(drawn_) if "loader wait" in text)
    assert drawn_[at].split() == ["loader", "wait", "42", "%", "over", "200", "steps"]
    assert drawn_[at + 1].split() == ["31.0", "ms"]


def test_every_figure_says_how_much_and_from_where() -> None:
    drawn_ = "\n".join(page(state()))
    assert "loader wait                   42 %  over 200 steps" in drawn_
    assert "workers without a core        31 %  as last read" in drawn_
    assert "measured in 93 % of these steps" in drawn_
    assert "at train.py:88" in drawn_
    assert "neutral: the same samples" in drawn_
    assert "not sure: a profile window shows where the workers wait" in drawn_


def test_where_figures_are_from_is_said_once() -> None:
    steps = [Evidence(name=name, value=2.0, unit="ms", window_steps=200) for name in "ab"]
    read = [Evidence(name=name, value=2.0, unit="cores", window_steps=0) for name in "cd"]
    finding = msgspec.structs.replace(
        page_scenes.pages().findings[0], evidence=[steps[0], read[0], steps[1], read[1]], coverage=1.0
    )
    alone = msgspec.structs.replace(page_scenes.pages(), findings=[finding])
    told_page = apply(DashboardState(run_id="demo-1"), Update(number=1, snapshot=True, view=alone))
    for told in ("\n".join(page(told_page)), finding_text(finding, state())):
        assert told.count("over 200 steps") == told.count("as last read") == 1
        assert told.index("over 200 steps") < told.index("as last read")


@pytest.mark.parametrize(("of", "words"), [("step", "37 % of the step"), ("time", "37 % of the time")])
def test_a_share_says_of_what_it_is(of: ShareOf, words: str) -> None:
    finding = msgspec.structs.replace(page_scenes.pages().findings[0], share=0.37, share_of=of)
    alone = msgspec.structs.replace(page_scenes.pages(), findings=[finding])
    told = apply(DashboardState(run_id="demo-1"), Update(number=1, snapshot=True, view=alone))
    assert any(text.rstrip().endswith(words) for text in page(told))
    assert any(text.rstrip().endswith(words) for text in texts(finding_lines(told, 100)))


def test_judgements_not_made_stand_once_for_all_ranks_with_what_would_settle_them() -> None:
    drawn_ = page(state())
    assert sum("launch.bound" in text for text in drawn_) == 1
    at = next(at for at, text in enumerate(drawn_) if "launch.bound" in text)
    assert drawn_[at] == "○ launch.bound ranks 0, 1, 2, 3"
    assert drawn_[at + 1 : at + 3] == [
        "  no profile window so far",
        "  → a profile window (p opens a window)",
    ]


def test_a_page_without_findings_says_whether_anybody_looks() -> None:
    assert page(DashboardState(run_id="r")) == ["○ no word from the hub"]
    quiet = msgspec.structs.replace(scenes.starved(), findings=[])
    known = apply(DashboardState(run_id="r"), Update(number=1, snapshot=True, view=quiet))
    assert page(known) == ["○ nothing found so far"]


@pytest.mark.parametrize("width", [40, 76, 117])
def test_no_line_is_wider_than_the_page(width: int) -> None:
    assert all(width_of(part) <= width for block in finding_blocks(state(), width) for part in block.lines)


def test_followers_of_one_rank_hang_under_that_rank_and_nothing_is_lost() -> None:
    def made(code: str, rank: int | None, under: str | None = None) -> Finding:
        return Finding(code=code, severity="warning", share=0.1, sentence="s", rank=rank, under=under)

    found = [made("b", 1, "a"), made("a", 0), made("a", 1), made("c", None, "gone"), made("d", 0, "b")]
    assert nested(found) == [(0, found[1]), (0, found[2]), (1, found[0]), (0, found[3]), (0, found[4])]
    assert nested([]) == []


def test_what_is_copied_is_the_whole_finding_and_a_command_a_shell_takes() -> None:
    copied = finding_text(page_scenes.CAUSE, state())
    assert copied.startswith("CRITICAL input.too_many_workers: 16 loader workers")
    assert "loader wait: 42 % (over 200 steps)" in copied
    assert copied.endswith("perftui relaunch demo-1 --set loader.num_workers=7")
    assert relaunch_command(page_scenes.ADVICE, state()) is None


@pytest.mark.parametrize(
    ("before", "change", "words"),
    [
        (
            {"loader.num_workers": 4},
            {"loader.pin_memory": True},
            " --set loader.num_workers=4 --set loader.pin_memory=true",
        ),
        ({"loader.num_workers": 4}, {"loader.num_workers": 8}, " --set loader.num_workers=8"),
        (
            {"precision.tf32": True, "gc.freeze": True},
            {"precision.autocast": "bf16"},
            " --set gc.freeze=true --set precision.autocast=bf16",
        ),
        ({"env.OMP_NUM_THREADS": "4"}, {}, " --set env.OMP_NUM_THREADS=4"),
        ({}, {}, ""),
    ],
)
def test_what_is_copied_of_an_experiment_starts_what_was_measured(
    before: dict[str, SettingValue], change: dict[str, SettingValue], words: str
) -> None:
    experiment = page_scenes.comparison(1, before=before, set=change)
    assert changed_command(experiment) == f"perftui run{words} -- python train.py"


@pytest.mark.parametrize(
    ("reached_as", "recorded", "command"),
    [
        ("demo-1", False, "perftui relaunch demo-1 --set loader.num_workers=7"),
        ("replay-4", True, "perftui relaunch demo-1 --set loader.num_workers=7"),
        ("gpu07:47700", False, None),
    ],
)
def test_the_command_of_a_finding_names_the_run_that_is_meant(
    reached_as: str, recorded: bool, command: str | None
) -> None:
    view = msgspec.structs.replace(page_scenes.pages(), header=scenes.header(replay=recorded))
    known = apply(DashboardState(run_id=reached_as), Update(number=1, snapshot=True, view=view))
    assert relaunch_command(page_scenes.CAUSE, known) == command
    copied = finding_text(page_scenes.CAUSE, known)
    assert ("perftui relaunch" in copied) is (command is not None)
    assert command is None or copied.endswith(command)
    assert "by hand: DataLoader(..., num_workers=7)" in copied
    assert reached_as == "demo-1" or reached_as not in copied


def test_settings_tell_what_was_set_what_failed_and_where_ranks_differ() -> None:
    known = state()
    assert known.header is not None
    rows = {row.name: row for row in setting_rows(known.ranks, known.header.settings)}
    workers, fused, pinned = rows["loader.num_workers"], rows["optimizer.fused"], rows["loader.pin_memory"]
    assert (workers.value, workers.others, workers.asked) == ("2", (("4", (1,)),), "2")
    assert (fused.value, fused.asked, fused.failed) == (
        "torch chooses", "true", "SGD has no such argument here",
    )  # fmt: skip
    assert not pinned.tells
    assert rows["torch.num_threads"].others == (("8", (1,)),)
    assert rows["env.OMP_NUM_THREADS"].value == "1"


def test_a_setting_nobody_read_back_is_no_value() -> None:
    row = setting_rows([scenes.rank(0)], {"compile.mode": "default"})
    asked = next(each for each in row if each.name == "compile.mode")
    assert (asked.value, asked.asked, asked.reason) == ("—", "default", "not read back")


def test_experiments_are_sorted_by_any_column_and_unknown_gains_come_last() -> None:
    idents = [each.comparison_id for each in ordered(page_scenes.COMPARISONS, LedgerOrder())]
    assert idents == ["c3", "c2", "c1"]
    by_gain = ordered(page_scenes.COMPARISONS, LedgerOrder("gain"))
    assert [each.comparison_id for each in by_gain] == ["c3", "c2", "c1"]
    oldest_first = ordered(page_scenes.COMPARISONS, LedgerOrder("when", upward=True))
    assert [each.comparison_id for each in oldest_first] == ["c1", "c2", "c3"]
    assert change_of(page_scenes.COMPARISONS[1]) == "compile.mode off → max-autotune"


def _history(steps: int, blocks: int, wait: float = 0.5) -> StepHistory:
    found = step_history(page_scenes.steps_log(steps, wait), 0, 0, None, blocks)
    assert found is not None
    return found


def test_the_band_lies_above_the_median_and_the_wait_below() -> None:
    history = StepHistory(
        rank=0, first_step=0, last_step=39, newest_step=39, block_steps=10, exact_from=0,
        p50_ms=[20.0] * 4, p99_ms=[40.0] * 4, mean_ms=[22.0] * 4, slowest_ms=[41.0] * 4, wait_ms=[10.0] * 4,
    )  # fmt: skip
    lines = band_chart(history, 48, 9)
    roles = [next(run.role for run in part if "█" in run.text) for part in lines[:-1]]
    assert roles == [BAND_ROLE] * 4 + ["accent"] * 2 + ["loader_wait"] * 2
    textured = texts(band_chart(history, 48, 9, textured=True))
    assert [text[-1] for text in textured[:-1]] == ["░"] * 4 + ["█"] * 2 + ["▒"] * 2


@pytest.mark.parametrize(
    ("steps", "width", "height"), [(1, 40, 6), (7, 78, 9), (412, 78, 9), (5000, 118, 14)]
)
def test_a_chart_has_its_size_whatever_it_shows(steps: int, width: int, height: int) -> None:
    history = _history(steps, width - 8)
    for textured in (False, True):
        lines = band_chart(history, width, height, textured=textured)
        assert len(lines) == height
        assert {width_of(part) for part in lines} == {width}


def test_marks_stand_at_their_steps() -> None:
    history = _history(400, 70)
    axis = plain(band_chart(history, 78, 8, [ChartMark(0, "relaunch"), ChartMark(200, "window")])[-1])
    assert axis.index("◆window") == 8 + 35
    assert axis.rstrip().endswith("step 399")


def test_thinned_steps_are_not_passed_off_as_quantiles() -> None:
    assert "before step 904 mean and slowest" in plain(band_key(_history(5000, 110), 100))
    assert "before" not in plain(band_key(_history(400, 110), 100))


def test_a_chart_without_steps_says_so() -> None:
    assert texts(band_chart(None, 60, 5))[0] == "asking the hub …"
    assert texts(distribution(None, 60, 5)) == ["no single steps of this stretch are kept"]


def test_the_distribution_names_median_and_tail() -> None:
    lines = texts(distribution(_history(412, 70), 78, 5))
    assert len(lines) == 5
    assert "▲p50" in lines[-1]
    assert "▲p99" in lines[-1]


def test_figures_never_measured_stand_with_their_reason() -> None:
    figures = [
        Figure("power", "132 W", "power_w"),
        Figure("a", None, "a"),
        Figure("b", None, "b"),
        Figure("c", None),
    ]
    assert texts(figure_grid(figures, {"a": "Not Supported", "b": "Not Supported"}, 40)) == [
        "power            132 W", "— a, b: Not Supported", "— c: not read",
    ]  # fmt: skip


def test_words_are_found_whatever_their_case_unless_capitals_are_typed() -> None:
    assert found_at("Loss loss LOSS", "loss") == [0, 5, 10]
    assert found_at("Loss loss LOSS", "Loss") == [0]
    assert found_at("aaaa", "aa") == [0, 2]
    assert found_at("x", "") == []
    assert matching(["a", "b", "ab"], "b") == [1, 2]


def test_markup_and_brackets_of_the_output_stay_text() -> None:
    lines = drawn(["[red]x[/red] [link=http://a]y"], TOP, 5, 60, "red", None, wrap=False)
    assert texts(lines) == ["[red]x[/red] [link=http://a]y"]
    marked = [run.text for run in lines[0] if run.back]
    assert marked == []
    current = drawn(["[red]x"], TOP, 5, 60, "red", 0, wrap=False)
    assert [run.text for run in current[0] if run.back == "key"] == ["red"]


def test_long_lines_are_cut_or_broken() -> None:
    long = "0123456789" * 5
    assert texts(drawn([long], TOP, 5, 20, "", None, wrap=False)) == ["0123456789012345678…"]
    assert texts(drawn([long], TOP, 5, 20, "", None, wrap=True)) == [long[:20], long[20:40], long[40:]]
    assert last_page(["a", long, "b"], 4, 20, wrap=True) == Place(1)
    assert last_page(["a", long, "b"], 3, 20, wrap=True) == Place(1, 1)
    assert last_page(["a", "b"], 4, 20, wrap=True) == TOP
    assert last_page([], 4, 20, wrap=True) == TOP


def test_a_text_longer_than_the_screen_is_gone_through_line_by_line() -> None:
    texts_ = ["a", "0123456789" * 30, "b"]
    place = TOP
    seen: list[str] = []
    for _ in range(17):
        seen += texts(drawn(texts_, place, 1, 20, "", None, wrap=True))
        place = moved(texts_, place, 1, 20, wrap=True)
    assert "".join(seen) == "a" + texts_[1] + "b"
    assert place == Place(2), "the end stays"
    assert moved(texts_, place, -16, 20, wrap=True) == TOP
    assert moved(texts_, place, -99, 20, wrap=True) == TOP
    assert last_page(texts_[:2], 5, 20, wrap=True) == Place(1, 10)


def test_what_was_found_in_a_long_text_is_in_view() -> None:
    text = "x" * 200 + "needle" + "y" * 200
    (cut,) = texts(drawn([text], TOP, 5, 40, "needle", 0, wrap=False))
    assert cut.startswith("…xxxxxxxxxxneedleyyy")
    assert width_of(drawn([text], TOP, 5, 40, "needle", 0, wrap=False)[0]) == 40
    assert texts(drawn([text], TOP, 5, 40, "needle", None, wrap=False))[0].startswith("xxx"), "another's turn"
    assert place_of_match(["", text], 1, "needle", 40, wrap=True) == Place(1, 5)
    assert place_of_match(["", text], 1, "needle", 40, wrap=False) == Place(1)


def test_zoom_and_shift_stay_within_the_run() -> None:
    whole = StepWindow()
    assert whole.bounds() == (0, None, None)
    near = whole.zoomed(1, 999)
    assert near.bounds() == (0, None, 500)
    assert near.zoomed(-1, 999) == whole
    back = near.shifted(-1, 999)
    assert back.bounds() == (375, 874, None)
    assert back.shifted(1, 999) == near
    for _ in range(20):
        back = back.shifted(-1, 999)
    assert back.bounds() == (0, 499, None)
    closest = near
    for _ in range(20):
        closest = closest.zoomed(1, 999)
    assert closest.steps == 16
    assert whole.shifted(-1, 999) == whole
