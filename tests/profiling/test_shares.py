"""Reading a file in several processes gives what reading it alone gives, or is given up for that."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perftui.ipc.errors import RecordingError
from perftui.trainer.profiling import trace_shares
from perftui.trainer.profiling.trace_columns import Trace
from perftui.trainer.profiling.trace_reader import read_trace
from perftui.trainer.profiling.trace_shares import read_shares
from tests.profiling.random_traces import random_trace
from tests.profiling.trace_maker import event, op


@pytest.fixture(autouse=True)
def small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_shares, "SHARE_BYTES", 2000)


def rows(trace: Trace) -> list[Any]:
    """Return what a trace says, whatever its numbers of names are."""
    names, host, device, calls = trace.names, trace.host, trace.device, trace.calls
    return [
        [
            (names[name], trace.threads[thread], start, end, external, trace.shapes[shapes])
            for name, thread, start, end, external, shapes in zip(
                *(
                    getattr(host, column).tolist()
                    for column in ("name", "thread", "start", "end", "external", "shapes")
                ),
                strict=True,
            )
        ],
        [(names[name], trace.threads[thread]) for name, thread in zip(calls.name, calls.thread, strict=True)],
        [
            (
                names[device.name[at]],
                int(device.start[at]),
                int(device.stream[at]),
                int(device.correlation[at]),
                trace.collectives[device.collective[at]] if device.collective[at] >= 0 else None,
            )
            for at in range(len(device))
        ],
        trace.events,
        trace.head.distributed,
    ]


def written(path: Path, seed: int = 1) -> Path:
    maker, _ = random_trace(seed)
    for number in range(20):
        maker.communicate(1000, **{"Collective name": f"allreduce {number}", "Process Group Name": "dp"})
        maker.add(
            "cpu_op",
            f"aten::op{number}",
            maker.now_ns,
            100,
            f"thread {number % 3}",
            **{"Input Dims": [[number]]},
        )
    document = maker.document()
    document["deviceProperties"] = [{"id": 0, "name": "GPU"}]
    document = {**document, "traceEvents": document.pop("traceEvents"), "distributedInfo": {"rank": 2}}
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("processes", [2, 3, 7])
def test_the_same(tmp_path: Path, processes: int) -> None:
    path = written(tmp_path / "trace.json")
    alone, shared = read_trace(path), read_shares(path, processes)
    assert shared is not None
    assert rows(read_trace(path, processes)) == rows(alone)
    head = shared[0]
    assert (head.devices[0]["name"], head.distributed["rank"]) == ("GPU", 2)


def test_an_array_of_events(tmp_path: Path) -> None:
    path = tmp_path / "array.json"
    path.write_text(json.dumps([op(f"aten::op{number}", number, 1) for number in range(100)]))
    assert read_shares(path, 3) is not None
    assert rows(read_trace(path, 3)) == rows(read_trace(path))


def test_odd_streams_stay_apart(tmp_path: Path) -> None:
    """Streams without a number are counted in each process on its own."""
    streams = ["compute", "copy", "side"]
    events = [
        event("kernel", "k", number, 1, stream=streams[number % 3 if number < 80 else 2])
        for number in range(120)
    ]
    path = tmp_path / "streams.json"
    path.write_text(json.dumps({"traceEvents": events}))
    assert read_shares(path, 4) is not None
    alone, shared = read_trace(path).device.stream, read_trace(path, 4).device.stream
    assert len(np.unique(shared)) == 3
    assert [(shared == value).tolist() for value in shared[:3]] == [
        (alone == value).tolist() for value in alone[:3]
    ]


def test_borders_that_are_none(tmp_path: Path) -> None:
    """What looks like a border lies within strings: shares do not decode, and the file is read alone."""
    name = 'x}, {"ph": "X", "cat": "cpu_op"' * 100
    events = [op(f"{name} {number}", number, 1) for number in range(10)]
    path = tmp_path / "tricky.json"
    path.write_text(json.dumps({"traceEvents": events}).replace('\\"', "'"))
    path.write_text(path.read_text().replace("{'ph': 'X', 'cat': 'cpu_op'", '{\\"ph\\": \\"X\\"'))
    assert len(read_trace(path, 4).host) == 10


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_errors_are_those_of_reading_alone(tmp_path: Path, place: float) -> None:
    path = written(tmp_path / "bad.json")
    text = path.read_bytes()
    at = text.index(b'"dur"', int(len(text) * place))
    for bad in (text[:at] + b"'" + text[at + 1 :], text[:at]):
        path.write_bytes(bad)
        with pytest.raises(RecordingError) as alone:
            read_trace(path)
        with pytest.raises(RecordingError) as shared:
            read_trace(path, 3)
        assert str(shared.value) == str(alone.value)


def test_not_with_threads_about(tmp_path: Path) -> None:
    path = written(tmp_path / "trace.json")
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert read_shares(path, 2) is None
    finally:
        done.set()
        other.join()
    assert read_shares(path, 2) is not None


def test_small_and_packed_files_are_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "trace.json")
    packed = random_trace(1)[0].write(tmp_path / "trace.json.gz")
    assert read_shares(packed, 2) is None
    assert read_shares(tmp_path / "gone.json", 2) is None
    monkeypatch.setattr(trace_shares, "SHARE_BYTES", 8 << 20)
    assert read_shares(path, 2) is None
