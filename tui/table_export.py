"""Writes a table to a file: all rows that the filter leaves, in the order on the screen."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from perftui.tui.new_file import write_new
from perftui.tui.renderables.trace_table import AnyTable

ExportKind: TypeAlias = Literal["csv", "json"]
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def export_table(table: AnyTable, rows: Sequence[int], folder: Path, stem: str, kind: ExportKind) -> Path:
    """Write rows to a new file and return its path; a file that is there is never replaced.

    Raises:
        Refused: the folder cannot be written.
    """
    records = [table.record(table.rows[at]) for at in rows]
    text = as_csv(records) if kind == "csv" else as_json(records)
    return write_new(folder, stem, kind, text)


def as_json(records: Sequence[Mapping[str, object]]) -> str:
    """Return the rows as a JSON array, with everything nested in them."""
    return msgspec.json.format(msgspec.json.encode(records), indent=1).decode() + "\n"


def as_csv(records: Sequence[Mapping[str, object]]) -> str:
    """Return the rows' single values as CSV; names that a spreadsheet would run as formulas get a quote."""
    flat = [{name: value for name, value in row.items() if _single(value)} for row in records]
    heading = list(dict.fromkeys(name for row in flat for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([[_cell(row.get(name)) for name in heading] for row in flat])
    return out.getvalue()


def _single(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value
