"""Numbers and foreign text as a person reads them: one place, so that a figure looks the same everywhere.

None is "—": never measured, which is not zero.
"""

import math
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from perftui.ipc.figures import figure

NOTHING = "—"
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;:<=>?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])"  # CSI, strings, others
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff"
    "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # writing from right to left, and such
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # seen by some terminals only
    "\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]"  # other looks, in some of another width
)
_FLAG_LETTERS = {0x1F1E6 + at: chr(ord("A") + at) for at in range(26)}
"""A pair of these is a flag in some terminals and two letters in others; of three different widths."""
_DOUBTFUL = re.compile(f"{_CONTROLS.pattern[:-1]}\t\U0001f1e6-\U0001f1ff]")


def clean(text: str) -> str:
    """Return one line of foreign text without escape sequences, controls, and what has no certain width."""
    if text.isascii() and text.isprintable():
        return text
    one = _CONTROLS.sub("", _ESCAPES.sub("", text.rstrip("\r\n").rpartition("\r")[2])).expandtabs(4)
    return one if one.isascii() else unicodedata.normalize("NFC", one.translate(_FLAG_LETTERS))


def visible(text: str) -> str:
    """Return a foreign name on one line, with a mark in place of each control character: nothing is lost."""
    if _DOUBTFUL.search(text) is None:
        return text
    return _CONTROLS.sub("\ufffd", text.replace("\t", " ")).translate(_FLAG_LETTERS)


def number(value: float | None) -> str:
    """Return three significant digits: 0.0421, 0.421, 4.21, 42.1, 421, 4210; others as 4.21e-6, 6.18e28."""
    return NOTHING if value is None else figure(value)


def plain(value: float) -> str:
    """Return a number as short as it can be: 0.5, 1, 32."""
    return f"{value:g}"


class TimeUnit(NamedTuple):
    """A unit of time, and below which duration it is the one that suits."""

    name: str
    in_ms: float
    below_ms: float

    def number(self, value_ms: float | None) -> str:
        """Return a duration given in ms, without the unit's name."""
        return number(None if value_ms is None else value_ms / self.in_ms)


_MS = TimeUnit("ms", 1.0, 9999.5)
_TIME_UNITS = (
    TimeUnit("µs", 0.001, 0.09995),
    _MS,
    TimeUnit("s", 1000.0, 9_999_500.0),
    TimeUnit("h", 3_600_000.0, math.inf),
)


def time_unit(values_ms: Iterable[float | None]) -> TimeUnit:
    """Return the unit that suits durations given in ms which stand beside each other: that of the longest."""
    longest = max((abs(value) for value in values_ms if value is not None), default=0.0)
    return next((unit for unit in _TIME_UNITS if 0 < longest < unit.below_ms), _MS)


def milliseconds(value: float | None) -> str:
    """Return a duration given in ms in the unit that suits it: µs, ms, from ten seconds on s, and h."""
    unit = time_unit([value])
    return NOTHING if value is None else f"{unit.number(value)} {unit.name}"


def in_ms(value: float | None) -> str:
    """Return a duration for a column of ms; one that is too long for it names its own unit."""
    return number(value) if value is None or value < _MS.below_ms else milliseconds(value)


def microseconds(value: float | None) -> str:
    """Return a duration given in µs in the unit that suits it."""
    if value is None:
        return NOTHING
    return f"{number(value)} µs" if value < 999.5 else milliseconds(value / 1000)


def with_error_us(value: float, error: float) -> str:
    """Return a figure with its standard error, both in one unit: 3.1 ± 0.9 µs, 31 ± 9 µs, 23.9 ± 3.0 ms."""
    largest = max(abs(value), error)
    unit, in_us, tenths_below = ("µs", 1, 9.95) if largest < 999.5 else ("ms", 1000, 99_950)
    digits = 1 if largest < tenths_below else 0
    return f"{value / in_us:,.{digits}f} ± {error / in_us:,.{digits}f} {unit}".replace("-", "−")


def percent(share: float | None) -> str:
    """Return a share (0-1) in percent: 75 %, 7.3 %, 0.02 %."""
    if share is None:
        return NOTHING
    value = share * 100
    if value >= 9.95 or value == 0:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 0.095 else f"{value:.1g} %"


def change(value_us: float | None) -> str:
    """Return a difference of durations given in µs, with its sign; a zero has none."""
    if value_us is None:
        return NOTHING
    sign = "+" if value_us > 0 else "−" if value_us < 0 else ""
    return f"{sign}{microseconds(abs(value_us))}"


def gain(fraction: float | None) -> str:
    """Return a gain in speed (0.05 = 5 % more steps a second) with its sign."""
    if fraction is None:
        return NOTHING
    return _signed(fraction * 100, 1)


def _signed(percent_: float, digits: int) -> str:
    """Return percent with their sign; what rounds to zero has none."""
    rounded = round(percent_, digits)
    return f"{rounded:+.{digits}f} %".replace("-", "−") if rounded else f"{0:.{digits}f} %"


def whole_gain(fraction: float | None) -> str:
    """Return a gain in speed with its sign, in whole percent: +5 %."""
    return NOTHING if fraction is None else _signed(fraction * 100, 0)


def gain_interval(low: float, high: float) -> str:
    """Return between which gains in speed: −2 to +5 %."""
    return f"{whole_gain(low).removesuffix(' %')} to {whole_gain(high)}"


def factor(value: float | None) -> str:
    """Return a speed-up as a factor: 3.1×."""
    return NOTHING if value is None else f"{value:.1f}×"


def rate(per_s: float | None, unit: str) -> str:
    """Return something per second."""
    return NOTHING if per_s is None else f"{number(per_s)} {unit}/s"


def count(value: int | None) -> str:
    """Return a whole number with separators."""
    return NOTHING if value is None else f"{value:,}"


_SIZES = ((10**9, "G"), (10**6, "M"), (10**3, "k"))


def count_in(cells: int, value: int | None) -> str:
    """Return a whole number with separators, or where they have no room rounded: 1.00M."""
    whole = count(value)
    if value is None or len(whole) <= cells:
        return whole
    size, letter = next((size, letter) for size, letter in _SIZES if abs(value) >= size)
    return f"{number(value / size)}{letter}"


def duration(seconds: float | None) -> str:
    """Return a time as h:mm:ss, or m:ss under an hour, with days where there are any."""
    if seconds is None:
        return NOTHING
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86_400)
    hours, minutes = rest // 3600, rest // 60 % 60
    if days:
        return f"{days} d {hours}:{minutes:02}:{rest % 60:02}"
    return f"{hours}:{minutes:02}:{rest % 60:02}" if hours else f"{minutes}:{rest % 60:02}"


def age(seconds: float) -> str:
    """Return how long ago, roughly: 3 s, 4 min, 2 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


def rough(seconds: float) -> str:
    """Return a time that is only estimated: 50 s, 1.5 min, 24 min."""
    if seconds < 90:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 570 else f"{seconds / 60:.0f} min"


def mebibytes(mib: float | None) -> str:
    """Return an amount of memory given in MiB."""
    if mib is None:
        return NOTHING
    return f"{mib:.0f} MiB" if mib < 1024 else f"{number(mib / 1024)} GiB"


def used_of(used_mib: float | None, total_mib: float | None) -> str:
    """Return used and total memory in one unit: 3.1/141 GiB."""
    if used_mib is None or total_mib is None:
        return mebibytes(used_mib)
    return f"{_gib(used_mib)}/{_gib(total_mib)} GiB"


def _gib(mib: float) -> str:
    return f"{mib / 1024:.1f}" if mib < 102_300 else f"{mib / 1024:.0f}"


_COUNTED = 1e12
"""Nothing is counted up to here: a whole number from here on is one that has lost its digits."""


def evidence_value(value: float, unit: str) -> str:
    """Return a finding's number with its unit."""
    if unit == "share":
        return percent(value)
    if unit == "ms":
        return milliseconds(value)
    if unit in ("us", "µs"):
        return microseconds(value)
    counts = not value % 1 and abs(value) < _COUNTED
    return f"{f'{value:.0f}' if counts else number(value)} {clean(unit)}".rstrip()
