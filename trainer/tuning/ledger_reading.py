"""Reads the ledger without ever writing to it or waiting long for it: for a hub, which must go on."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from perftui.ipc.errors import Refused
from perftui.ipc.ledger_records import Comparison
from perftui.ipc.search_records import SearchEntry, SearchPlan
from perftui.trainer.tuning.ledger_queries import ENTRIES, NEWEST, PLANS

_BUSY_S = 0.2


def newest_comparisons(path: Path, limit: int, host: str | None = None) -> list[Comparison]:
    """Return at most `limit` comparisons, newest first, of one host or of all; none without a ledger.

    Raises:
        Refused: it cannot be read: it is busy, damaged, or of another perftui.
    """
    if not path.exists():
        return []
    with _opened(path) as file:
        rows = file.execute(NEWEST, (host, host, limit)).fetchall()
        return [msgspec.json.decode(record, type=Comparison) for (record,) in rows]


def recorded_search(path: Path, host: str, word: str = "") -> tuple[SearchPlan, list[SearchEntry]] | None:
    """Return a search of a host with what was done in it; None where there is none.

    Args:
        path: of the ledger.
        host: where it was made.
        word: its id, the beginning of one, or its name; empty: the newest.

    Raises:
        Refused: the ledger cannot be read: it is busy, damaged, or of another perftui.
    """
    if not path.exists():
        return None
    with _opened(path) as file:
        plans = (msgspec.json.decode(text, type=SearchPlan) for (text,) in file.execute(PLANS, (host,)))
        plan = next((each for each in plans if each.search_id.startswith(word) or each.name == word), None)
        if plan is None:
            return None
        rows = file.execute(ENTRIES, (plan.search_id,)).fetchall()
        return plan, [msgspec.json.decode(record, type=SearchEntry) for (record,) in rows]


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as file:
            yield file
    except (sqlite3.Error, msgspec.MsgspecError, RecursionError) as error:
        raise Refused(f"{path}: the ledger cannot be read ({error}); try: perftui ledger") from error
