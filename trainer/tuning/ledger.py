"""The ledger: every comparison ever made by this user on this host, failures included, in one SQLite file.

Several tuners append at once and may be killed at any moment, so each line is one transaction. The record is
stored as JSON beside a few columns for searching; anybody can read it without perftui.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from perftui.ipc.errors import Refused
from perftui.ipc.ledger_records import Comparison
from perftui.trainer.tuning.file_systems import is_local
from perftui.trainer.tuning.known_noise import known_noise
from perftui.trainer.tuning.ledger_queries import NEWEST
from perftui.trainer.tuning.regression import Noise

SCHEMA_VERSION = 2
_BUSY_S = 20.0
_COMPARISONS_FOR_NOISE = 100

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS comparisons (
        comparison_id TEXT PRIMARY KEY, unix REAL NOT NULL, host TEXT NOT NULL, name TEXT NOT NULL,
        change TEXT NOT NULL, finding TEXT, verdict TEXT NOT NULL, gain REAL, lo REAL, hi REAL,
        record TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS by_time ON comparisons (unix)",
    "CREATE INDEX IF NOT EXISTS by_host ON comparisons (host, unix)",
    """CREATE TABLE IF NOT EXISTS launch_steps (
        comparison_id TEXT NOT NULL, place INTEGER NOT NULL, run_id TEXT NOT NULL, step_s TEXT NOT NULL,
        PRIMARY KEY (comparison_id, place))""",
    """CREATE TABLE IF NOT EXISTS searches (
        search_id TEXT PRIMARY KEY, unix REAL NOT NULL, host TEXT NOT NULL, name TEXT NOT NULL,
        record TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS search_entries (
        search_id TEXT NOT NULL, place INTEGER NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY (search_id, place))""",
)


class Ledger:
    """An open ledger; used by one thread.

    Args:
        path: its file; made, readable by its owner only, when there is none.

    Raises:
        Refused: it was written by a newer perftui, or it is no ledger.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise Refused(
                f"{path}: the ledger cannot be used ({error}); move it away to begin a new one"
            ) from error
        except Refused:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        self._refuse_newer()
        self._choose_journal()
        if self._version() < SCHEMA_VERSION:
            with self._transaction():
                self._refuse_newer()
                for statement in _SCHEMA:
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _refuse_newer(self) -> None:
        version = self._version()
        if version > SCHEMA_VERSION:
            raise Refused(
                f"{self._path} was written by a newer perftui (ledger {version}, this one knows "
                f"{SCHEMA_VERSION}): update perftui"
            )

    def _choose_journal(self) -> None:
        """Write-ahead log where shared memory works; elsewhere (network file systems) the old journal.

        Changing the mode needs the file alone and does not wait for it by itself.
        """
        wanted = "wal" if is_local(self._path) else "delete"
        deadline = time.monotonic() + _BUSY_S
        while True:
            if self._connection.execute("PRAGMA journal_mode").fetchone()[0] == wanted:
                return
            try:
                self._connection.execute(f"PRAGMA journal_mode = {wanted}")
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def append(self, comparison: Comparison, steps_s: Sequence[Sequence[float]] = ()) -> None:
        """Add one comparison, whole or not at all.

        Args:
            comparison: the line.
            steps_s: raw seconds per step of its launches, in their order.

        Raises:
            Refused: the disk or another process does not let us write.
        """
        with self._writing():
            self._insert(comparison, steps_s)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write what the block writes, whole or not at all."""
        try:
            with self._transaction():
                yield
        except sqlite3.Error as error:
            raise Refused(f"{self._path}: the ledger line could not be written ({error})") from error

    def _insert(self, comparison: Comparison, steps_s: Sequence[Sequence[float]]) -> None:
        self._connection.execute(
            "INSERT INTO comparisons VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", _row(comparison)
        )
        self._connection.executemany(
            "INSERT INTO launch_steps VALUES (?, ?, ?, ?)", _step_rows(comparison, steps_s)
        )

    def newest(self, limit: int | None = None, host: str | None = None) -> list[Comparison]:
        """Return comparisons, newest first, at most `limit`, of one host or of all.

        Raises:
            Refused: a line is damaged.
        """
        rows = self._connection.execute(NEWEST, (host, host, -1 if limit is None else limit))
        try:
            return [msgspec.json.decode(record, type=Comparison) for (record,) in rows]
        except (sqlite3.Error, msgspec.MsgspecError, RecursionError) as error:
            raise Refused(
                f"{self._path}: a line of the ledger cannot be read ({error}); move the file away"
            ) from error

    def steps_s(self, comparison_id: str) -> list[list[float]]:
        """Return the raw seconds per step of each launch of a comparison."""
        rows = self._connection.execute(
            "SELECT step_s FROM launch_steps WHERE comparison_id = ? ORDER BY place", (comparison_id,)
        )
        return [msgspec.json.decode(text, type=list[float]) for (text,) in rows]

    def noise(self, host: str, command: Sequence[str] | None = None) -> Noise:
        """Return what is known of the noise between launches on a host, of one command where it is named.

        Args:
            host: its name.
            command: argv of the training whose launches are to be judged.
        """
        return known_noise(self.newest(_COMPARISONS_FOR_NOISE, host), command)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


@contextmanager
def open_ledger(path: Path) -> Iterator[Ledger]:
    """Open a ledger for as long as the block runs."""
    with closing(Ledger(path)) as ledger:
        yield ledger


def _row(comparison: Comparison) -> tuple[object, ...]:
    verdict = comparison.verdict
    return (
        comparison.comparison_id,
        comparison.unix,
        comparison.host,
        comparison.name,
        msgspec.json.encode(comparison.set).decode(),
        comparison.finding,
        verdict.verdict,
        verdict.gain,
        verdict.lo,
        verdict.hi,
        msgspec.json.encode(comparison).decode(),
    )


def _step_rows(comparison: Comparison, steps_s: Sequence[Sequence[float]]) -> list[tuple[str, int, str, str]]:
    return [
        (
            comparison.comparison_id,
            place,
            launch.run_id,
            msgspec.json.encode([round(s, 7) for s in steps]).decode(),
        )
        for place, (launch, steps) in enumerate(zip(comparison.launches, steps_s, strict=False))
    ]
