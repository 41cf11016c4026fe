"""What the reader makes of files in all the forms that writers give them."""

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from perftui.trainer.profiling import trace_text
from perftui.trainer.profiling.trace_reader import read_trace
from tests.profiling.equal_traces import same
from tests.profiling.trace_maker import TraceMaker, event, op

TRICKY = 'a "quoted\\" name}, {"ph": "X", "cat": "kernel", "name": "no event"}'


def tricky_events(count: int) -> list[dict[str, Any]]:
    """Return events with borders of events in their names and arguments, and nested lists and objects."""
    draw = random.Random(count)
    events: list[dict[str, Any]] = []
    for number in range(count):
        one = op(f"{TRICKY} {number % 7}", number * 10, 5, "two" if draw.random() < 0.5 else 1)
        one["args"] = {
            "Input Dims": [[number % 3, 2], []],
            "nested": [{"name": "x"}, {"ph": "X"}, {"cat": "kernel"}],
            "text": "},{" * draw.randrange(4),
            "External id": number,
        }
        events.append(one)
    return events


def written(path: Path, document: object, indent: int | None = None) -> Path:
    text = json.dumps(document, indent=indent).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.mark.parametrize("block_bytes", [64, 333, 5000])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_pieces_make_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, indent: int | None, name: str
) -> None:
    document = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "GPU"}, {"id": 1, "name": '"traceEvents": ['}],
        "traceEvents": tricky_events(200),
        "distributedInfo": {"rank": 3, "pg_config": [{"name": "0"}, {"name": "1"}]},
    }
    path = written(tmp_path / name, document, indent)
    whole = read_trace(path)
    assert (whole.events, len(whole.host)) == (200, 200)
    assert set(whole.names) == {f"{TRICKY} {number}" for number in range(7)}
    assert whole.head.distributed["rank"] == 3
    assert whole.head.devices[1]["name"] == '"traceEvents": ['
    monkeypatch.setattr(trace_text, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(trace_text, "_PACKED_BYTES", 50)
    pieces = read_trace(path)
    assert same(whole, pieces)
    assert pieces.events == 200
    assert pieces.head == whole.head


def test_an_array_of_events_is_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "array.json"
    path.write_text(' [{"ph":"M","name":"x"},{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":2.5}]\n')
    trace = read_trace(path)
    assert trace.host.end.tolist() == [3500]
    assert trace.events == 2


def test_several_gzip_members_and_padding(tmp_path: Path) -> None:
    text = json.dumps({"traceEvents": [op("a", 1, 2), op("b", 3, 4)]}).encode()
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(text[:40]) + gzip.compress(text[40:]) + b"\0" * 100)
    assert read_trace(path).names == ["a", "b"]


@pytest.mark.parametrize("bad", ["NaN", "-Infinity", "N/A", "-nan", "inf"])
def test_numbers_that_json_does_not_know(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "nan.json"
    path.write_text(
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "NaN, kept", "ts": 1, "dur": 2, '
        f'"args": {{"est. achieved occupancy %": {bad}, "correlation": {bad}}}}}, '
        f'{{"ph": "X", "cat": "kernel", "name": "no time", "ts": {bad}, "dur": 1}}]}}'
    )
    trace = read_trace(path)
    assert [trace.names[index] for index in trace.device.name] == ["NaN, kept"]
    assert trace.device.correlation.tolist() == [-1]
    assert np.isnan(trace.device.occupancy_pct[0])


@pytest.mark.parametrize(
    ("written_name", "name"),
    [(b"C:\\q\\x", "C:\\q\\x"), (b"a\nb", "a b"), (b"\xffz", "\N{REPLACEMENT CHARACTER}z")],
)
def test_strings_that_json_forbids(tmp_path: Path, written_name: bytes, name: str) -> None:
    path = tmp_path / "strings.json"
    path.write_bytes(
        b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "' + written_name + b'", "ts": 1, "dur": 2}]}'
    )
    assert read_trace(path).names == [name]


def test_odd_types(tmp_path: Path) -> None:
    """Strings for numbers, names for streams, and identifiers beyond 64 bits."""
    events = [
        event("kernel", "k", 1, 2, "stream 7", device="1", stream="stream 7", correlation="12", bytes="n/a"),
        event("kernel", "k", 4, 2, "gfx", device="GPU 0", stream="compute", correlation=2**64 - 1),
        event("cuda_runtime", "hipLaunchKernel", 0, 1, correlation=12.0),
        {"ph": "X", "cat": "cpu_op", "name": 7, "ts": "3.5", "dur": 1, "args": None},
        {"ph": "X", "cat": "cpu_op", "name": "no duration", "ts": 3},
        {"ph": "X", "cat": "cpu_op", "name": "negative", "ts": 9, "dur": -1},
    ]
    trace = read_trace(written(tmp_path / "odd.json", {"traceEvents": events}))
    assert (trace.device.device[0], trace.device.stream[0], trace.device.correlation.tolist()) == (
        1,
        7,
        [12, -1],
    )
    assert trace.device.stream[1] < 0
    assert trace.device.bytes.tolist() == [-1, -1]
    assert trace.calls.correlation.tolist() == [12]
    assert [trace.names[index] for index in trace.host.name] == ["7", "negative"]
    assert (trace.host.start.tolist(), trace.host.end.tolist()) == ([3500, 9000], [4500, 9000])


def test_old_categories(tmp_path: Path) -> None:
    events = [
        event("Operator", "aten::mm", 0, 9, **{"External id": 4}),
        event("Runtime", "cudaLaunchKernel", 1, 2, correlation=4),
        event("Kernel", "gemm", 5, 3, 7, correlation=4),
        event("Memcpy", "Memcpy HtoD (Pinned -> Device)", 9, 1, 7, correlation=5),
    ]
    trace = read_trace(written(tmp_path / "old.json", {"traceEvents": events}))
    assert (len(trace.host), len(trace.calls), len(trace.device)) == (1, 1, 2)
    assert trace.host.external.tolist() == [4]


def test_times_of_today_in_microseconds_keep_whole_ones(tmp_path: Path) -> None:
    """Before torch 2.4 times count from 1970, where a double has a quarter of a microsecond left."""
    trace = read_trace(written(tmp_path / "old.json", {"traceEvents": [op("a", 1_661_203_462_584_767, 3)]}))
    assert trace.host.start.tolist() == [1_661_203_462_584_767_000]
    assert trace.host.end.tolist() == [1_661_203_462_584_770_000]


def test_memory_stays_below_the_file(tmp_path: Path) -> None:
    """Two and a half times the file at most, the interpreter and numpy included; in a process of its own."""
    maker = TraceMaker()
    maker.step()
    for _ in range(1000):
        maker.compute(10_000, "void at::native::elementwise_kernel" + "<float>" * 20)
        maker.add(
            "cpu_op", "aten::mm", maker.now_ns, 5000, 100, **{"Input Dims": [[128, 1024], [1024, 1024]]}
        )
    maker.end_step()
    block = msgspec.json.encode(maker.events)[1:-1] + b","
    path = tmp_path / "large.json"
    times = (40 << 20) // len(block)
    path.write_bytes(b'{"traceEvents": [' + block * times + msgspec.json.encode(maker.events[0]) + b"]}")
    code = (
        "import sys; from pathlib import Path; from perftui.trainer.profiling.analysis import analyse_files;"
        "report = analyse_files([Path(sys.argv[1])]); assert report.ranks[0].error is None, report;"
        "peak = Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0];"
        "print(report.ranks[0].events, int(peak) * 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    events, peak_bytes = map(int, done.stdout.split())
    assert events == times * len(maker.events) + 1
    assert peak_bytes < 2.5 * path.stat().st_size
