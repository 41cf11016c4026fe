"""The ledger as searches use it: a plan and its entries, each written at once and in order.

A comparison's own line and the entry that it was judged are one transaction: whenever the process is killed,
either both are there or neither is.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from perftui.ipc.ledger_records import Comparison
from perftui.ipc.search_records import Judged, SearchEntry, SearchPlan
from perftui.trainer.tuning.ledger import Ledger
from perftui.trainer.tuning.ledger_queries import ENTRIES, PLANS


class SearchLedger(Ledger):
    """An open ledger, with its searches; used by one thread."""

    def begin_search(self, plan: SearchPlan) -> None:
        """Add a search.

        Raises:
            Refused: it cannot be written.
        """
        row = (plan.search_id, plan.unix, plan.host, plan.name, msgspec.json.encode(plan).decode())
        with self._writing():
            self._connection.execute("INSERT INTO searches VALUES (?, ?, ?, ?, ?)", row)

    def add_entry(self, search_id: str, entry: SearchEntry) -> None:
        """Add what was done.

        Raises:
            Refused: it cannot be written.
        """
        with self._writing():
            self._add(search_id, entry)

    def add_judged(
        self, search_id: str, entry: Judged, comparison: Comparison, steps_s: Sequence[Sequence[float]]
    ) -> None:
        """Add a comparison's line and the entry that it was judged, both or neither.

        Raises:
            Refused: they cannot be written.
        """
        with self._writing():
            self._insert(comparison, steps_s)
            self._add(search_id, entry)

    def _add(self, search_id: str, entry: SearchEntry) -> None:
        self._connection.execute(
            "INSERT INTO search_entries SELECT ?, count(*), ? FROM search_entries WHERE search_id = ?",
            (search_id, msgspec.json.encode(entry).decode(), search_id),
        )

    def plans(self, host: str) -> list[SearchPlan]:
        """Return the searches of a host, newest first."""
        rows = self._connection.execute(PLANS, (host,))
        return [msgspec.json.decode(record, type=SearchPlan) for (record,) in rows]

    def entries(self, search_id: str) -> list[SearchEntry]:
        """Return what was done in a search, in order."""
        rows = self._connection.execute(ENTRIES, (search_id,))
        return [msgspec.json.decode(record, type=SearchEntry) for (record,) in rows]

    def all_entries(self) -> Iterator[SearchEntry]:
        """Yield what was done in all searches, in no order."""
        for (record,) in self._connection.execute("SELECT record FROM search_entries"):
            yield msgspec.json.decode(record, type=SearchEntry)


@contextlib.contextmanager
def open_search_ledger(path: Path) -> Iterator[SearchLedger]:
    """Open a ledger for as long as the block runs."""
    with contextlib.closing(SearchLedger(path)) as ledger:
        yield ledger
