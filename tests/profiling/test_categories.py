"""Events decoded by category read as those of no known category do: every table, every argument."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perftui.trainer.profiling import trace_pieces, trace_text
from perftui.trainer.profiling.trace_categories import CATEGORIES, TABLE_OF_TYPE
from perftui.trainer.profiling.trace_reader import read_trace
from tests.profiling.equal_traces import same
from tests.profiling.trace_maker import event

_ARGUMENTS = {
    "External id": 5,
    "correlation": "17",
    "stream": 7,
    "device": 1,
    "bytes": "4096",
    "blocks per SM": 1.5,
    "est. achieved occupancy %": 30,
    "graph node id": 3,
    "Input Dims": [[1, 2], []],
    "Collective name": "allreduce",
    "Process Group Name": "0",
    "Process Group Ranks": [0, 1],
    "Seq": 9,
    "dtype": "Float",
    "In msg nelems": 100,
    "Out msg nelems": 100,
    "Bytes": 512,
    "Total Allocated": 1024,
    "Device Type": 1,
    "more": {"cat": "kernel"},
}


def of_every_category(*others: str) -> list[dict[str, Any]]:
    """Return events of every category and of others, with all arguments, with none, and with no times."""
    events: list[dict[str, Any]] = []
    names = [name for categories in CATEGORIES.values() for name in categories]
    for number, category in enumerate([*names, "ac2g", "Trace", *others] * 20):
        name = "[memory]" if category == "cpu_instant_event" else f"name {number % 7}"
        one = event(category, name, number * 10, 5, "thread" if number % 3 else 4, **_ARGUMENTS)
        one["args"]["External id"] = number
        if number % 5 == 0:
            del one["args"]
        if number % 11 == 0:
            one["ts"] = "N/A"
        events.append(one)
    return events


def counted(pieces: Iterator[list[Any]]) -> tuple[int, int]:
    """Return how many events have a type of their category's, and how many the general one."""
    names = [type(one).__name__ for piece in pieces for one in piece]
    return names.count("CategoryEvent"), names.count("Event")


@pytest.mark.parametrize(
    ("others", "of_their_own"), [((), True), (("a category of tomorrow",), False)], ids=["known", "unknown"]
)
def test_the_types_make_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: tuple[str, ...], of_their_own: bool
) -> None:
    path = tmp_path / "trace.json"
    events = of_every_category(*others)
    path.write_text(json.dumps({"traceEvents": events}))
    monkeypatch.setattr(trace_text, "BLOCK_BYTES", 8000)
    typed, general = counted(iter(trace_pieces.TracePieces(path)))
    assert typed + general == len(events)
    assert (typed > general) == of_their_own
    found = read_trace(path)
    monkeypatch.setattr(trace_pieces, "_TRUST", 0)
    assert counted(iter(trace_pieces.TracePieces(path))) == (0, len(events))
    plain = read_trace(path)
    assert same(found, plain)
    assert found.syncs.stream.tolist() == plain.syncs.stream.tolist()
    assert found.collectives == plain.collectives
    tables = (found.host, found.calls, found.device, found.python, found.syncs, found.memory)
    assert all(len(table) > 0 for table in tables)


def test_metadata_amidst_spoils_its_own_piece_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of threads and counters have no category."""
    path = tmp_path / "trace.json"
    events = of_every_category()
    events.insert(len(events) // 2, {"ph": "M", "name": "thread_name", "pid": 1, "args": {"name": "x"}})
    path.write_text(json.dumps(events))
    monkeypatch.setattr(trace_text, "BLOCK_BYTES", 8000)
    typed, general = counted(iter(trace_pieces.TracePieces(path)))
    assert 0 < general < typed
    assert typed + general == len(events)
    assert read_trace(path).events == len(events)


def test_every_table_has_its_types() -> None:
    tables = list(TABLE_OF_TYPE.values())
    assert {table: tables.count(table) for table in CATEGORIES} == {
        table: len(categories) for table, categories in CATEGORIES.items()
    }
