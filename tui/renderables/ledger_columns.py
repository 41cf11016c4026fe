"""The columns of the page of experiments: how a comparison reads in each, and how rows are sorted. Pure."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from perftui.ipc.ledger_records import Comparison
from perftui.ipc.settings import SettingValue
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import Line, Run, line
from perftui.tui.renderables.remedy_words import changes
from perftui.tui.renderables.verdict_words import verdict_words

ENDED_WELL = ("running", "finished", "stopped")
_VERDICT_RANK = ("faster", "provisional", "same", "unchanged", "slower")
_WIDE = 100


@dataclass(frozen=True)
class LedgerColumn:
    """One column: how its cell reads, and by what it sorts."""

    heading: str
    width: int
    cell: Callable[[Comparison], Line]
    sort_key: Callable[[Comparison], tuple[object, ...]]
    right: bool = False
    wide_only: bool = False


def before_of(comparison: Comparison) -> dict[str, SettingValue]:
    """Return what was in force before, as read back where it was."""
    effective = next((each.effective for each in comparison.launches if each.label == "A"), {})
    return {**comparison.before, **{name: effective[name] for name in comparison.set if name in effective}}


def change_of(comparison: Comparison) -> str:
    """Return the change: `loader.num_workers 0 → 2`."""
    return fmt.clean(changes(before_of(comparison), comparison.set)) or "nothing"


def _when(comparison: Comparison) -> Line:
    return line(Run(time.strftime("%Y-%m-%d %H:%M", time.localtime(comparison.unix)), "dim"))


def _when_short(comparison: Comparison) -> Line:
    return line(Run(time.strftime("%m-%d %H:%M", time.localtime(comparison.unix)), "dim"))


def _verdict(comparison: Comparison) -> Line:
    words = verdict_words(comparison.verdict)
    return line(Run(f"{words.mark} {words.short}", words.role))


def _gain(comparison: Comparison) -> Line:
    gain = comparison.verdict.gain
    return line(Run(fmt.whole_gain(gain), "dim" if gain is None else "value"))


def _interval(comparison: Comparison) -> Line:
    low, high = comparison.verdict.lo, comparison.verdict.hi
    if low is None or high is None:
        return line(Run(fmt.NOTHING, "dim"))
    return line(fmt.gain_interval(low, high))


def _failed(comparison: Comparison) -> int:
    return sum(launch.outcome not in ENDED_WELL for launch in comparison.launches)


def _launches(comparison: Comparison) -> Line:
    failed = _failed(comparison)
    return line(
        str(len(comparison.launches) or comparison.verdict.launches),
        Run(f" ✖{failed}" if failed else "", "critical"),
    )


def _by_verdict(comparison: Comparison) -> tuple[object, ...]:
    word = comparison.verdict.verdict
    return (-_VERDICT_RANK.index(word) if word in _VERDICT_RANK else -len(_VERDICT_RANK), comparison.unix)


def _known(value: float | None) -> tuple[object, ...]:
    return (value is not None, value or 0.0)


COLUMNS = (
    LedgerColumn("when", 16, _when, lambda each: (each.unix,)),
    LedgerColumn("verdict", 13, _verdict, _by_verdict),
    LedgerColumn("gain", 7, _gain, lambda each: _known(each.verdict.gain), right=True),
    LedgerColumn("98 % interval", 14, _interval, lambda each: _known(each.verdict.lo), right=True),
    LedgerColumn("launches", 8, _launches, lambda each: (len(each.launches),), right=True, wide_only=True),
    LedgerColumn(
        "run",
        14,
        lambda each: line(Run(fmt.clean(each.name), "dim")),
        lambda each: (each.name,),
        wide_only=True,
    ),
    LedgerColumn(
        "change", 0, lambda each: line(Run(change_of(each), "text")), lambda each: (change_of(each),)
    ),
)
"""The last one takes what is left."""


def columns_of(width: int) -> tuple[LedgerColumn, ...]:
    """Return the columns that there is room for; a narrow page leaves the year out."""
    if width >= _WIDE:
        return COLUMNS
    short = replace(COLUMNS[0], width=11, cell=_when_short)
    return (short, *(column for column in COLUMNS[1:] if not column.wide_only))


@dataclass(frozen=True)
class LedgerOrder:
    """What the rows are sorted by."""

    column: str = "when"
    upward: bool = False


def ordered(comparisons: Sequence[Comparison], order: LedgerOrder) -> list[Comparison]:
    """Return them in this order; what has no value stands last."""
    column = next(each for each in COLUMNS if each.heading == order.column)
    return sorted(comparisons, key=lambda each: (column.sort_key(each), each.unix), reverse=not order.upward)
