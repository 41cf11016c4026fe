"""`perftui ledger`: what was tried on this host, and what came of it."""

import sys
import time
from collections.abc import Callable, Sequence

import msgspec

from perftui.ipc.harmless import harmless_json, one_line
from perftui.ipc.ledger_records import Comparison
from perftui.ipc.places import ledger_path
from perftui.ipc.settings import format_value
from perftui.trainer.text_table import NEVER, table
from perftui.trainer.tuning.ledger import open_ledger
from perftui.trainer.tuning.wording import fine_percent

LEDGER_SCHEMA = 1
_HEADINGS = ("when", "run", "change", "gain", "98 % interval", "verdict", "launches", "commit")
_COMMIT_DIGITS = 8


class LedgerDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`perftui ledger --json`."""

    schema: int = LEDGER_SCHEMA
    comparisons: list[Comparison]


def run(*, limit: int | None, as_json: bool) -> int:
    """Print the newest lines of the ledger and return the exit code.

    Raises:
        Refused: the ledger is from a newer perftui, or none.
    """
    code = show_ledger(as_json=as_json, limit=limit, write=sys.stdout.write)
    sys.stdout.flush()
    return code


def show_ledger(*, as_json: bool, limit: int | None, write: Callable[[str], object]) -> int:
    """Write the newest lines of the ledger, newest first, and return the exit code.

    Args:
        as_json: one JSON document instead of a table.
        limit: most lines; None for all.
        write: takes text, as `sys.stdout.write` does.

    Raises:
        Refused: the ledger is from a newer perftui, or none.
    """
    comparisons: list[Comparison] = []
    if ledger_path().exists():
        with open_ledger(ledger_path()) as ledger:
            comparisons = ledger.newest(limit)
    if as_json:
        document = msgspec.json.encode(LedgerDocument(comparisons=comparisons))
        write(harmless_json(msgspec.json.format(document).decode()) + "\n")
    else:
        write(ledger_table(comparisons))
    return 0


def ledger_table(comparisons: Sequence[Comparison]) -> str:
    """Return comparisons as an aligned table in plain text."""
    if not comparisons:
        return "The ledger is empty: nothing has been compared yet.\n"
    rows = [_HEADINGS, *(tuple(map(one_line, _cells(comparison))) for comparison in comparisons)]
    return "".join(f"{line}\n" for line in table(rows))


def change_words(comparison: Comparison) -> str:
    """Return a change as `loader.num_workers 0 → 2`."""
    return ", ".join(
        f"{name} {_before(comparison, name)} → {format_value(value)}"
        for name, value in comparison.set.items()
    )


def _before(comparison: Comparison, name: str) -> str:
    effective = next((each.effective for each in comparison.launches if each.label == "A"), {})
    value = effective.get(name, comparison.before.get(name))
    return NEVER if value is None else format_value(value)


def _cells(comparison: Comparison) -> tuple[str, ...]:
    verdict = comparison.verdict
    gain = NEVER if verdict.gain is None else fine_percent(verdict.gain)
    interval = NEVER
    if verdict.lo is not None and verdict.hi is not None:
        interval = f"{fine_percent(verdict.lo).removesuffix(' %')} to {fine_percent(verdict.hi)}"
    commit = (comparison.commit or NEVER)[:_COMMIT_DIGITS] + ("*" if comparison.dirty else "")
    return (
        time.strftime("%Y-%m-%d %H:%M", time.localtime(comparison.unix)),
        comparison.name,
        change_words(comparison),
        gain,
        interval,
        verdict.verdict.replace("_", " "),
        str(verdict.launches),
        commit,
    )
