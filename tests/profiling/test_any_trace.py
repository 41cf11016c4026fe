"""Traces that no writer makes: whatever is in them, figures keep their sums, or one error says why not."""

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from perftui.ipc.errors import RecordingError
from perftui.ipc.trace_report import RankReport, TraceTimeline
from perftui.trainer.profiling.analysis import analyse_files
from perftui.trainer.profiling.rank_report import rank_report
from perftui.trainer.profiling.report_text import report_text
from perftui.trainer.profiling.subject import prepare
from perftui.trainer.profiling.timeline import timeline
from perftui.trainer.profiling.trace_reader import read_trace
from tests.profiling.trace_maker import LOADER

CATEGORIES = [
    "cpu_op", "cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "kernel", "kernel", "gpu_memcpy",
    "gpu_memset", "python_function", "cuda_sync", "gpu_user_annotation", "ac2g", "cpu_instant_event", None, 5,
]  # fmt: skip
NAMES = [
    "aten::mm", "aten::add", "ProfilerStep#1", "ProfilerStep#2", LOADER, "cudaLaunchKernel",
    "cudaMemcpyAsync", "cudaStreamSynchronize", "cudaGraphLaunch", "hipGraphLaunch",
    "ncclDevKernel_AllReduce", "Memset (Device)", "Memcpy HtoD (Pageable -> Device)", "train.py(3): f",
    "x (dynamo_timed)", "Optimizer.step#A", "[memory]", "", None, 7,
]  # fmt: skip
ARGUMENTS = [
    "correlation", "External id", "stream", "device", "bytes", "blocks per SM", "est. achieved occupancy %",
    "Seq", "In msg nelems", "Bytes", "Total Allocated", "Device Type", "graph node id", "Collective name",
    "Process Group Name", "Input Dims",
]  # fmt: skip


def number(draw: random.Random, high: int) -> object:
    usual = draw.choice([draw.randint(0, high), draw.uniform(0, high)])
    return draw.choice([*[usual] * 12, str(usual), None, "N/A", 0, -3])


def argument(draw: random.Random) -> object:
    odd: list[object] = [None, "x", [1], {"a": 1}, 2**70, -1, 1e300]
    usual: list[object] = [draw.randint(0, 30)] * 6
    return draw.choice([*usual, str(draw.randint(0, 30)), draw.random(), *odd])


def any_event(draw: random.Random) -> dict[str, Any]:
    event = {
        "ph": draw.choice("XXXXXXXXXsfiMB"),
        "cat": draw.choice(CATEGORIES),
        "name": draw.choice(NAMES),
        "pid": draw.choice([0, 1, "a"]),
        "tid": draw.choice([1, 2, "t"]),
        "ts": number(draw, 1000),
        "dur": number(draw, 100),
        "args": {name: argument(draw) for name in ARGUMENTS if draw.random() < 0.5},
    }
    return {name: value for name, value in event.items() if draw.random() < 0.97}


@pytest.mark.parametrize("seed", range(150))
def test_sums_hold(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    path = tmp_path / "any.json"
    events = [any_event(draw) for _ in range(draw.choice([1, 2, 5, 40, 300]))]
    path.write_text(json.dumps({"traceEvents": events, "distributedInfo": argument(draw)}))
    try:
        subject = prepare(read_trace(path))
    except RecordingError as error:
        assert str(error).startswith(f"{path}: ")  # noqa: PT017
        return
    report = rank_report(subject, 0, str(path))
    assert report.sentence
    assert msgspec.json.decode(msgspec.json.encode(report), type=RankReport) == report
    if report.gpu is not None and report.idle is not None:
        parts = msgspec.structs.astuple(report.gpu)
        kinds = msgspec.structs.astuple(report.idle)
        assert sum(parts) == pytest.approx(1)
        assert sum(kinds) == pytest.approx(report.gpu.idle)
        assert min(*parts, *kinds) > -1e-9
    assert all(row.self_us >= 0 and row.total_us >= 0 for row in report.operators)
    drawn = timeline(subject, report.steps, 50)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(drawn), type=TraceTimeline) == drawn
    assert report_text(analyse_files([path, path]))
