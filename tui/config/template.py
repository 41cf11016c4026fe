"""A configuration with everything that may stand in it, as it is by default and commented out. Pure."""

from collections.abc import Sequence

from textual.binding import Binding

from perftui.tui.config.settled import FASTEST_PER_S, PANEL_WORDS, SLOWEST_PER_S, THEME_WORDS, UPDATES_PER_S
from perftui.tui.key_contexts import CONTEXTS, bindings_of, every_binding
from perftui.tui.key_names import KEYS_EXPECTED, written_key

_HEAD = f"""\
# Configuration of perftui's screens. What stands here is how it is without this file: take away a `#` to
# change a line. A mistake is told when a dashboard opens, and by `perftui config`; the rest holds.

# {", ".join(THEME_WORDS)}.
# auto: light where the terminal announces a light background (COLORFGBG), else dark. Where the terminal has
# 16 colours, they are its own.
# theme = "auto"

[rates]
# How often the screen is painted anew at most, {SLOWEST_PER_S:g} to {FASTEST_PER_S:g} a second.
# If not said, {UPDATES_PER_S:g}, and less often where there are many ranks.
# updates_per_s = {UPDATES_PER_S:g}

[overview]
# What stands below the answer to "is it fine?"; what is left out leaves its room to the others.
# panels = [{", ".join(f'"{word}"' for word in PANEL_WORDS)}]

[keys]
# A key is {KEYS_EXPECTED}.
# Several: ["down", "j"]. An action has its key on every screen that has the action.
"""


def config_template() -> str:
    """Return the file."""
    lines = [_HEAD.rstrip("\n")]
    told: set[str] = set()
    for where, tables in CONTEXTS.items():
        new = [each for each in bindings_of(tables) if each.id and each.id not in told]
        here = list({each.id: each for each in reversed(new)}.values())[::-1]
        if here:
            lines += ["", f"# on {where}", *(_line(each) for each in here)]
            told |= {each.id or "" for each in here}
    return "\n".join([*lines, ""])


def _line(binding: Binding) -> str:
    others = {each.key for each in every_binding() if each.id == binding.id} - {binding.key}
    elsewhere = f"; elsewhere {' or '.join(_value(each) for each in sorted(others))}" if others else ""
    return f"# {f'{binding.id} = {_value(binding.key)}':<38}  # {binding.tooltip}{elsewhere}"


def _value(key: str) -> str:
    words = [written_key(each) for each in key.split(",")]
    return _quoted(words[0]) if len(words) == 1 else f"[{_listed(words)}]"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    return f"'{word}'" if word in ('"', "\\") else f'"{word}"'
