"""Reads the ledger without ever writing to it or waiting long for it: for a hub, which must go on."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from perftui.ipc.errors import Refused
from perftui.ipc.ledger_records import Comparison

_BUSY_S = 0.2
_NEWEST = "SELECT record FROM comparisons ORDER BY unix DESC, rowid DESC LIMIT ?"


def newest_comparisons(path: Path, limit: int) -> list[Comparison]:
    """Return at most `limit` comparisons, newest first; none where there is no ledger yet.

    Raises:
        Refused: it cannot be read: it is busy, damaged, or of another perftui.
    """
    if not path.exists():
        return []
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as file:
            rows = file.execute(_NEWEST, (limit,)).fetchall()
        return [msgspec.json.decode(record, type=Comparison) for (record,) in rows]
    except (sqlite3.Error, msgspec.MsgspecError, RecursionError) as error:
        raise Refused(f"{path}: the ledger cannot be read ({error}); try: perftui ledger") from error
