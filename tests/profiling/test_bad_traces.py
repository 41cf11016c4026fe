"""Bad files give one clear error that names the file and the place."""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.errors import RecordingError
from perftui.ipc.trace_report import TraceReport, TraceTimeline
from perftui.trainer.profiling import trace_pieces, trace_text
from perftui.trainer.profiling.analyse import main
from perftui.trainer.profiling.answer import Analysis
from perftui.trainer.profiling.trace_reader import read_trace
from tests.profiling.trace_maker import op

TraceWriter = Callable[..., Path]
GOOD = json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 2}]}).encode()
PACKED = gzip.compress(GOOD, mtime=0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty file"),
        (GOOD[:-9], f"cut off at byte {len(GOOD) - 9}"),
        (PACKED[:-9], f"cut off after {len(PACKED) - 9} compressed bytes"),
        (PACKED[:-8] + b"12345678", "damaged gzip file"),
        (b"step,loss\n1,2\n", r"not JSON \(.*byte 0\)"),
        (GOOD.replace(b'"ts"', b"'ts'"), r"not JSON \(.*byte 59\)"),
        (b'{"loss": 3}', "not a torch.profiler trace .*traceEvents"),
        (
            b'{"traceEvents": [{"ts": 1}, {"ts": [2]}]}',
            r"not a torch.profiler trace \(.*at traceEvents\[1\]\.ts\)",
        ),
        (GOOD.replace(b"]}", b",]}"), r"not JSON \(.*at byte"),
        (b'{"traceEvents": [{"ph": "X"}], "a": }', r"not JSON \(.*at byte 36"),
        (b"{" * 100, "not JSON"),
        (b'{"schemaVersion": 1}' + b" " * 99, "not a torch.profiler trace"),
        (b'{"traceEvents": []}', "no operators and no kernels among its 0 events"),
        (b'{"traceEvents": [{"ph": "M", "name": "x"}]}', "no operators and no kernels among its 1 events"),
    ],
)
def test_the_error_names_file_and_place(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=rf"^{re.escape(str(path))}: {said}"):
        read_trace(path)


@pytest.mark.parametrize("where", [3000, 40_000, 89_000])
def test_the_byte_is_that_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: int) -> None:
    """However many pieces were read before it."""
    event = GOOD[len(b'{"traceEvents": [') : -2]
    text = b'{"traceEvents": [' + b", ".join([event] * 1500) + b"]}"
    place = text.index(b'"dur"', where)
    path = tmp_path / "bad.json"
    path.write_bytes(text[:place] + b"'" + text[place + 1 :])
    monkeypatch.setattr(trace_text, "BLOCK_BYTES", 1000)
    with pytest.raises(RecordingError, match=rf"not JSON \(.*at byte {place}\)"):
        read_trace(path)
    path.write_bytes(text[:place])
    with pytest.raises(RecordingError, match=f"cut off at byte {place}"):
        read_trace(path)
    number = text[:place].count(b'"ts"') - 1
    path.write_bytes(text[: place - 3] + b"[]" + text[place - 2 :])
    with pytest.raises(RecordingError, match=rf"at traceEvents\[{number}\]\.ts"):
        read_trace(path)


def test_a_folder_and_a_file_without_permission(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="Is a directory"):
        read_trace(tmp_path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"gone\.json: No such file"):
        read_trace(tmp_path / "gone.json")


def test_the_worker_keeps_good_ranks(tmp_path: Path) -> None:
    good, bad, answer = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "w1.analysis.json"
    good.write_bytes(GOOD)
    bad.write_bytes(GOOD[:-9])
    worker = [sys.executable, "-m", "perftui.trainer.profiling.analyse"]
    done = subprocess.run([*worker, str(answer), f"0={bad}", f"1={good}"], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    analysis = msgspec.json.decode(answer.read_bytes(), type=Analysis)
    assert [(rank.rank, rank.state) for rank in analysis.ranks] == [(0, "failed"), (1, "done")]
    assert "cut off" in (analysis.ranks[0].reason or "")
    beside, drawn = tmp_path / "w1.report.json", tmp_path / "w1.rank1.timeline"
    assert analysis.report_path == str(beside)
    report = msgspec.json.decode(beside.read_bytes(), type=TraceReport)
    assert report.sentence == analysis.sentence
    assert [rank.timeline_path for rank in report.ranks] == [None, str(drawn)]
    timeline = msgspec.msgpack.decode(drawn.read_bytes(), type=TraceTimeline)
    assert (timeline.names, timeline.lanes[0].duration_ns) == (["a"], [2000])
    assert sorted(tmp_path.iterdir()) == sorted([good, bad, answer, beside, drawn])


def test_the_worker_without_a_good_trace_says_so(tmp_path: Path) -> None:
    assert main([str(tmp_path / "out.json"), f"0={tmp_path / 'gone'}"]) == 0
    analysis = msgspec.json.decode((tmp_path / "out.json").read_bytes(), type=Analysis)
    assert analysis.sentence == "No trace of this window could be read."


def test_the_worker_needs_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from perftui.trainer.profiling.analyse import main; code = main(sys.argv[1:]);"
        "sys.exit(9 if 'torch' in sys.modules else code)"
    )
    (tmp_path / "good.json").write_bytes(GOOD)
    files = [str(tmp_path / "out.json"), f"0={tmp_path / 'good.json'}"]
    assert subprocess.run([sys.executable, "-c", code, *files], check=False).returncode == 0


@pytest.mark.parametrize("arguments", [[], ["out.json"], ["out.json", "0"], ["out.json", "x=file"]])
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage: ")


def test_an_answer_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "no" / "out.json"), f"0={tmp_path / 'x'}"]) == 1
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b'{"traceEvents": [{"name": "' + b"x" * 3_000_000 + b'"}]}',
            "no event ends within 2 MiB from byte 1",
        ),
        (GOOD[:-1] + b', "x": [' + b'{"y": 1}, ' * 300_000 + b"1]}", "more than 2 MiB behind the events"),
        (b'{"traceEvents": [{"cat": "cpu_op", "args": {"stream": ' + b"[" * 200_000, "nested too deeply"),
        (gzip.compress(b" " * 3_000_000, mtime=0), "no trace shrinks so much"),
    ],
    ids=["endless string", "endless tail", "deep", "bomb"],
)
def test_what_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, said: str
) -> None:
    monkeypatch.setattr(trace_text, "_TRUSTED_BYTES", 1 << 20)
    monkeypatch.setattr(trace_pieces, "_TAIL_BYTES", 2 << 20)
    monkeypatch.setattr(trace_pieces, "_EVENT_BYTES", 2 << 20)
    path = tmp_path / "bomb.json"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=said):
        read_trace(path)


@pytest.mark.parametrize("ts", ["1e300", "-1e18", "9223372036854775807", "4503599627370497"])
def test_a_time_that_no_clock_shows_is_left_out(write_trace: TraceWriter, ts: str) -> None:
    path = write_trace([op("aten::a", 10, 5), op("aten::b", 20, 5)])
    path.write_bytes(path.read_bytes().replace(b'"ts": 20', f'"ts": {ts}'.encode()))
    trace = read_trace(path)
    assert (trace.events, len(trace.host)) == (2, 1)
