"""Reads a configuration: what is right is taken, and each mistake is told in a line of its own. Pure."""

import difflib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar, cast

from perftui.tui.config.settled import (
    DEFAULT,
    FASTEST_PER_S,
    PANEL_WORDS,
    SLOWEST_PER_S,
    THEME_WORDS,
    Config,
)
from perftui.tui.key_map import action_ids, without_clashes
from perftui.tui.key_names import key_from, why_no_key

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_Word = TypeVar("_Word", bound=str)
_Checked = TypeVar("_Checked")
_Table: TypeAlias = dict[str, object]
_SHOWN_MAX = 60
"""Characters of a wrong value that are repeated."""


class _Wrong(ValueError):
    """A value that cannot be; the message says what would be right."""


def read_config(text: str, source: str) -> Config:
    """Return what a file says; `mistakes` has what it says wrongly, and that is as if it were not there.

    Args:
        text: of the file.
        source: its name, to be told with each mistake.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Config(mistakes=(f"{source}: {_first_small(str(error))}; nothing of it is in force",))
    reader = _Reader(text, source)
    return reader.read(table)


class _Reader:
    """Goes through one file and keeps its mistakes."""

    def __init__(self, text: str, source: str) -> None:
        self._lines, self._source = text.splitlines(), source
        self._mistakes: list[str] = []

    def read(self, table: _Table) -> Config:
        """Return the configuration."""
        self._unknown("", table, ("theme", "rates", "overview", "keys"))
        rates, overview = self._table(table, "rates"), self._table(table, "overview")
        self._unknown("rates", rates, ("updates_per_s",))
        self._unknown("overview", overview, ("panels",))
        config = Config(
            theme=self._value("", table, "theme", _one_of(THEME_WORDS), DEFAULT.theme),
            updates_per_s=self._value("rates", rates, "updates_per_s", _rate, DEFAULT.updates_per_s),
            panels=self._value("overview", overview, "panels", _some_of(PANEL_WORDS), DEFAULT.panels),
            keys=self._keys(self._table(table, "keys")),
        )
        return replace(config, mistakes=tuple(self._mistakes))

    def _value(
        self, of: str, table: _Table, name: str, check: Callable[[object], _Checked], default: _Checked
    ) -> _Checked:
        if name not in table:
            return default
        try:
            return check(table[name])
        except _Wrong as wrong:
            self._wrong_value(of, name, table[name], str(wrong))
            return default

    def _table(self, table: _Table, name: str) -> _Table:
        found = table.get(name, {})
        if isinstance(found, dict):
            return cast("_Table", found)
        self._wrong_value("", name, found, f"expected a table, [{name}]")
        return {}

    def _unknown(self, of: str, table: _Table, known: Sequence[str]) -> None:
        for name in table:
            if name not in known:
                self._tell(of, name, f"is not known; expected {_nearest(name, known)}")

    def _keys(self, table: _Table) -> Mapping[str, tuple[str, ...]]:
        known, keys = action_ids(), dict[str, tuple[str, ...]]()
        for id_, value in table.items():
            if id_ not in known:
                self._tell("keys", id_, f"is no action; expected {_nearest(id_, known)}")
                continue
            try:
                keys[id_] = _keys_of(value)
            except _Wrong as wrong:
                self._wrong_value("keys", id_, value, str(wrong))
        together, clashes = without_clashes(keys)
        for id_, why in clashes:
            self._wrong_value("keys", id_, table[id_], f"{why}: choose another key, or give that one another")
        return together

    def _wrong_value(self, of: str, name: str, value: object, right: str) -> None:
        self._tell(of, name, f"= {_shortly(value)}: {right}", joint=" ")

    def _tell(self, of: str, name: str, words: str, joint: str = " ") -> None:
        at = line_of(self._lines, of, name)
        place = f" line {at}" if at else ""
        self._mistakes.append(f"{self._source}{place}: {f'{of}.' if of else ''}{name}{joint}{words}")


def line_of(lines: Sequence[str], table: str, key: str) -> int | None:
    """Return the line, from 1, on which a key of a table stands ("": outside all tables); None: not found.

    A table of that name is found too. Unusual spellings (inline tables, dotted keys) are not looked for.
    """
    here = ""
    assignment = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    for number, text in enumerate(lines, start=1):
        heading = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", text)
        if heading is not None:
            here = heading[1].strip("\"'")
            if not table and here == key:
                return number
        elif here == table and assignment.match(text):
            return number
    return None


def _one_of(words: Sequence[_Word]) -> Callable[[object], _Word]:
    def check(value: object) -> _Word:
        found = next((word for word in words if word == value), None)
        if found is None:
            raise _Wrong(f"expected {_or(words)}")
        return found

    return check


def _some_of(words: Sequence[_Word]) -> Callable[[object], tuple[_Word, ...]]:
    def check(value: object) -> tuple[_Word, ...]:
        listed = cast("list[object]", value) if isinstance(value, list) else [None]
        if any(each not in words for each in listed):
            raise _Wrong(f"expected a list of {_or(words)}")
        return tuple(word for word in words if word in listed)

    return check


def _rate(value: object) -> float:
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else -1.0
    if not SLOWEST_PER_S <= number <= FASTEST_PER_S:
        raise _Wrong(f"expected a number from {SLOWEST_PER_S:g} to {FASTEST_PER_S:g}")
    return float(number)


def _keys_of(value: object) -> tuple[str, ...]:
    words = cast("list[object]", value) if isinstance(value, list) else [value]
    found: list[str] = []
    for word in words:
        if not isinstance(word, str):
            raise _Wrong('expected a key in quotes, or a list of them, as in "s" or ["down", "j"]')
        key = key_from(word)
        if key is None:
            raise _Wrong(why_no_key(word))
        found.append(key)
    if not found:
        raise _Wrong("expected one key at least")
    return tuple(dict.fromkeys(found))


def _nearest(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return near[0] if near else _or(known) if len(known) <= 5 else "a name that `perftui config` lists"


def _or(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _shortly(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value)
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"


def _first_small(text: str) -> str:
    return text[:1].lower() + text[1:]
