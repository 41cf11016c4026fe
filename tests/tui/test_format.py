"""Numbers and foreign text; which glyphs and theme a terminal gets; the layout's sums."""

import pytest

from perftui.tui import format as fmt
from perftui.tui.glyphs import choose_glyphs, to_ascii
from perftui.tui.layout import plan
from perftui.tui.palette import choose_theme


def test_never_measured_is_not_zero() -> None:
    for words in (fmt.number, fmt.milliseconds, fmt.percent, fmt.factor, fmt.gain, fmt.mebibytes, fmt.count):
        assert words(None) == "—"
    assert fmt.percent(0.0) == "0 %"
    assert fmt.number(0.0) == "0.00"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (fmt.number(0.010), "0.0100"),
        (fmt.number(0.0149), "0.0149"),
        (fmt.number(0.0012), "0.00120"),
        (fmt.number(-0.421), "-0.421"),
        (fmt.number(float("nan")), "nan"),
        (fmt.number(float("inf")), "inf"),
        (fmt.milliseconds(0.0), "0.00 ms"),
        (fmt.milliseconds(0.0421), "42.1 µs"),
        (fmt.milliseconds(0.00042), "0.420 µs"),
        (fmt.milliseconds(0.421), "0.421 ms"),
        (fmt.milliseconds(142.34), "142 ms"),
        (fmt.milliseconds(12_345.0), "12.3 s"),
        (fmt.milliseconds(1_200_000.0), "1200 s"),
        (fmt.milliseconds(36_000_000.0), "10.0 h"),
        (fmt.milliseconds(float("nan")), "nan ms"),
        (fmt.in_ms(9_999.0), "9999"),
        (fmt.in_ms(12_345.0), "12.3 s"),
        (fmt.count_in(8, 999_999), "999,999"),
        (fmt.count_in(8, 1_000_000), "1.00M"),
        (fmt.count_in(4, 12_345), "12.3k"),
        (fmt.count_in(8, 2_000_000_000), "2.00G"),
        (fmt.microseconds(812.4), "812 µs"),
        (fmt.microseconds(318_400.0), "318 ms"),
        (fmt.percent(0.752), "75 %"),
        (fmt.percent(0.0731), "7.3 %"),
        (fmt.percent(0.00008), "0.008 %"),
        (fmt.gain(0.0512), "+5.1 %"),
        (fmt.gain(0.0), "0.0 %"),
        (fmt.gain(-0.0004), "0.0 %"),
        (fmt.gain(0.0004), "0.0 %"),
        (fmt.whole_gain(-0.004), "0 %"),
        (fmt.gain_interval(-0.004, 0.021), "0 to +2 %"),
        (fmt.gain(-0.021), "−2.1 %"),
        (fmt.duration(59.9), "0:59"),
        (fmt.duration(3_725), "1:02:05"),
        (fmt.duration(90_061), "1 d 1:01:01"),
        (fmt.used_of(3174.0, 143_771.0), "3.1/140 GiB"),
        (fmt.evidence_value(0.752, "share"), "75 %"),
        (fmt.evidence_value(2.0, "cores"), "2 cores"),
        (fmt.evidence_value(25_557_032.0, ""), "25557032"),
        (fmt.evidence_value(61820046280064170006553821184.0, ""), "6.18e28"),
        (fmt.age(5000), "83 min"),
    ],
)
def test_figures(shown: str, expected: str) -> None:
    assert shown == expected


def test_ascii_keeps_the_width_in_cells() -> None:
    assert to_ascii("╭─ 3.1× → µs ▁█ 日 é ─╮") == "+- 3.1x > us _# ?? ? -+"


def test_glyphs_follow_the_locale_and_the_person() -> None:
    assert not choose_glyphs({"LANG": "en_US.UTF-8"}).ascii
    assert not choose_glyphs({"LC_ALL": "C.utf8", "LANG": "C"}).ascii
    assert choose_glyphs({"LC_ALL": "C", "LANG": "en_US.UTF-8"}).ascii
    assert choose_glyphs({"LC_CTYPE": "de_DE.ISO-8859-1"}).ascii
    assert choose_glyphs({"LANG": "C.UTF-8", "PERFTUI_ASCII": "1"}).ascii
    assert not choose_glyphs({"LANG": "de_DE@euro", "PERFTUI_ASCII": "0"}).ascii
    assert choose_glyphs({"NO_COLOR": "1"}).textured
    assert not choose_glyphs({"NO_COLOR": ""}).textured
    assert choose_glyphs({"PERFTUI_GRAPH": "block"}).chart == "block"


def test_a_locale_that_is_not_said_is_utf8_but_in_a_multiplexer_that_believes_otherwise() -> None:
    assert not choose_glyphs({}).ascii
    assert choose_glyphs({"TMUX": "/tmp/tmux-0/default,1,0"}).ascii
    assert choose_glyphs({"STY": "12.pts-0.host"}).ascii
    assert not choose_glyphs({"TMUX": "/tmp/tmux-0/default,1,0", "LANG": "C.UTF-8"}).ascii


def test_a_terminal_without_colours_has_its_parts_told_apart_by_letters() -> None:
    assert choose_glyphs({"TERM": "vt220"}, colours=0).textured
    assert not choose_glyphs({"TERM": "xterm"}, colours=8).textured
    assert not choose_glyphs({"TERM": "of-which-nothing-is-known"}, colours=None).textured
    assert choose_glyphs({"TERM": "linux"}, colours=8).ascii


def test_theme_follows_the_terminal_and_the_person() -> None:
    assert choose_theme({}, "256") == "perftui-dark"
    assert choose_theme({"COLORFGBG": "0;15"}, "truecolor") == "perftui-light"
    assert choose_theme({}, "standard") == "perftui-ansi"
    assert choose_theme({"PERFTUI_THEME": "light"}, None) == "perftui-ansi-light"


@pytest.mark.parametrize("height", [10, 16, 24, 40, 60])
@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("ranks", [0, 1, 2, 8, 9, 1024])
@pytest.mark.parametrize("relaunch", [0, 9])
def test_the_plan_never_exceeds_the_screen(width: int, height: int, ranks: int, relaunch: int) -> None:
    made = plan(width, height, ranks, gpus=True, relaunch=relaunch)
    assert 5 + made.ranks + made.middle + made.bottom <= max(height, 5 + made.ranks)
    assert min(made.ranks, made.middle, made.bottom) >= 0
    assert made.ranks > 0


def test_the_plan_shows_cards_up_to_eight_ranks_then_a_table() -> None:
    assert plan(120, 40, 8).columns == 2
    assert plan(120, 40, 9).columns == 0
    assert plan(80, 24, 2).columns == 1
    assert plan(80, 24, 4).columns == 0
