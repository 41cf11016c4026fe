"""Colours: every role in every theme, words that can be read, and the theme that a terminal starts with."""

import pytest
from textual.color import Color

from perftui.tui import colours
from perftui.tui.palette import THEMES, choose_theme, palette_of

WORDS = ("text", "dim", "value", "title", "heading", "key", "critical", "warning", "fine", "note", "accent")
GROUNDS = {
    "dark": (colours.DARK, "#121212", 4.5),
    "light": (colours.LIGHT, "#ffffff", 4.5),
    "contrast": (colours.CONTRAST, "#000000", 7.0),
    "contrast-light": (colours.CONTRAST_LIGHT, "#ffffff", 7.0),
}
ALL = (
    colours.DARK,
    colours.LIGHT,
    colours.CONTRAST,
    colours.CONTRAST_LIGHT,
    colours.ANSI,
    colours.ANSI_LIGHT,
    colours.ANSI_CONTRAST,
)


def _luminance(colour: str) -> float:
    """Relative luminance by WCAG 2.2."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in Color.parse(colour).normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_measure_is_the_standard_one() -> None:
    assert _contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert _contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("word", GROUNDS)
def test_words_stand_out_from_the_ground(word: str) -> None:
    roles, ground, least = GROUNDS[word]
    low = {role: _contrast(roles[role], ground) for role in WORDS}
    assert min(low.values()) >= least, low


@pytest.mark.parametrize("word", GROUNDS)
def test_colours_survive_256_colours(word: str) -> None:
    levels = {0, 95, 135, 175, 215, 255, *range(8, 239, 10)}
    for role, colour in GROUNDS[word][0].items():
        red, green, blue = Color.parse(colour).rgb
        cube = {red, green, blue} <= {0, 95, 135, 175, 215, 255}
        assert cube or (red == green == blue and red in levels), (role, colour)


def test_every_theme_has_every_role() -> None:
    assert len({frozenset(roles) for roles in ALL}) == 1
    for theme in THEMES:
        palette = palette_of(theme)
        for role in colours.DARK:
            palette.style(role)
            assert palette.style("on-bar", role) != palette.style("text")


@pytest.mark.parametrize(
    ("environ", "depth", "wanted", "theme"),
    [
        ({}, "256", "auto", "dark"),
        ({"COLORFGBG": "0;15"}, "truecolor", "auto", "light"),
        ({"COLORFGBG": "0;default;15"}, "256", "auto", "light"),
        ({"COLORFGBG": "15;0"}, "256", "auto", "dark"),
        ({"COLORFGBG": "0;15"}, "256", "dark", "dark"),
        ({"COLORFGBG": "0;15"}, "standard", "auto", "ansi-light"),
        ({}, "standard", "auto", "ansi"),
        ({}, None, "auto", "ansi"),
        ({}, "standard", "contrast-light", "ansi-contrast"),
        ({}, "256", "contrast", "contrast"),
        ({}, "256", "ansi-light", "ansi-light"),
        ({"PERFTUI_THEME": "light"}, "256", "dark", "light"),
        ({"PERFTUI_THEME": "nonsense"}, "256", "contrast", "contrast"),
    ],
)
def test_the_first_theme(environ: dict[str, str], depth: str | None, wanted: str, theme: str) -> None:
    assert choose_theme(environ, depth, wanted) == f"perftui-{theme}"
    assert f"perftui-{theme}" in {each.name for each in THEMES}
