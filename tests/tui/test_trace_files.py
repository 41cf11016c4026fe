"""Reports and timelines from disk, the shelf of windows, and exports."""

import csv
import gzip
import io
import json
import os
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.errors import RecordingError, Refused
from perftui.ipc.trace_report import TraceTimeline
from perftui.tui.report_shelf import ReportShelf, WindowRef
from perftui.tui.table_export import as_csv, as_json, export_table
from perftui.tui.trace_files import beside, read_report, read_timeline
from tests.tui import trace_scenes
from tests.tui.trace_tables import table_of


def test_documents_are_read_as_json_and_messagepack_compressed_or_not(tmp_path: Path) -> None:
    document = trace_scenes.timeline()
    for packed in (False, True):
        for encode in (msgspec.json.encode, msgspec.msgpack.encode):
            data = encode(document)
            path = tmp_path / "timeline"
            path.write_bytes(gzip.compress(data) if packed else data)
            assert len(read_timeline(path).events) == 21


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a timeline"),
        (b"{}", "missing required field"),
        (b"\x1f\x8b\x08", "not a timeline"),
        (b"[1]", "not a"),
    ],
)
def test_what_is_no_timeline_says_so(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "timeline.json"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=words):
        read_timeline(path)


def test_numbers_that_no_clock_gives_are_an_error_and_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    timeline = msgspec.to_builtins(trace_scenes.timeline())
    timeline["lanes"][0]["start_ns"][0] = 2**63
    path.write_text(json.dumps(timeline))
    with pytest.raises(RecordingError, match="record the window anew"):
        read_timeline(path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RecordingError, match="not a file"):
        read_report(tmp_path / "pipe")


def test_columns_of_unequal_length_lose_what_is_incomplete(tmp_path: Path) -> None:
    lane = msgspec.structs.replace(trace_scenes.timeline().lanes[1], duration_ns=[5, 6])
    broken = TraceTimeline(window_ns=100, names=["a"], classes=[], lanes=[lane], steps=[])
    path = tmp_path / "timeline.json"
    path.write_bytes(msgspec.json.encode(broken))
    index = read_timeline(path)
    assert (len(index.events), index.undrawn, index.classes) == (0, 2, ["other"])


def test_a_timeline_is_found_beside_a_report_that_was_moved(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    (tmp_path / "t0.json").write_text("{}")
    assert beside(report, "t0.json") == tmp_path / "t0.json"
    assert beside(report, "/gone/since/t0.json") == tmp_path / "t0.json"
    assert beside(report, "/gone/since/t1.json") == Path("/gone/since/t1.json")


def test_a_window_is_compared_with_the_one_before_or_the_marked_one(tmp_path: Path) -> None:
    shelf = ReportShelf()
    refs = [WindowRef(f"window {n}", tmp_path / f"{n}.json") for n in range(3)]
    for ref in refs:
        shelf.add(ref)
    assert shelf.before(refs[0].path) is None
    assert shelf.before(refs[2].path) == refs[1]
    shelf.mark(refs[0].path)
    assert shelf.before(refs[2].path) == refs[0]
    assert shelf.before(refs[0].path) is None
    assert shelf.before(tmp_path / "unknown.json") == refs[0]


def test_the_shelf_is_bounded_and_keeps_the_marked_window(tmp_path: Path) -> None:
    shelf = ReportShelf()
    first = WindowRef("first", tmp_path / "first.json")
    shelf.add(first)
    shelf.mark(first.path)
    for n in range(100):
        shelf.add(WindowRef(f"window {n}", tmp_path / f"{n}.json"))
    assert shelf.before(tmp_path / "99.json") == first
    assert shelf.before(tmp_path / "3.json") == first


def test_a_report_is_read_once(tmp_path: Path) -> None:
    path = trace_scenes.written(tmp_path, trace_scenes.report())
    shelf = ReportShelf()
    first = shelf.report(path)
    path.unlink()
    assert shelf.report(path) is first


def test_csv_quotes_what_a_spreadsheet_would_run_and_leaves_out_what_is_nested() -> None:
    rows: list[dict[str, object]] = [
        {"name": "=1+1", "count": 3, "shapes": [1]},
        {"name": 'a,"b"\n', "count": None, "more": -1.5},
    ]
    read = list(csv.reader(io.StringIO(as_csv(rows))))
    assert read == [["name", "count", "more"], ["'=1+1", "3", ""], ['a,"b"\n', "", "-1.5"]]
    assert json.loads(as_json(rows)) == rows


def test_a_folder_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be written"):
        export_table(table_of("operators"), [0], tmp_path / "gone", "t", "csv")


@pytest.mark.parametrize("tab", ["operators", "gaps", "ranks", "trust", "events", "memory"])
def test_every_kind_of_row_can_be_exported(tmp_path: Path, tab: str) -> None:
    table = table_of(tab)
    everything = range(len(table.rows))
    rows = json.loads(export_table(table, everything, tmp_path, tab, "json").read_text())
    lines = list(csv.reader(export_table(table, everything, tmp_path, tab, "csv").read_text().splitlines()))
    assert len(rows) == len(table.rows) == len(lines) - 1
