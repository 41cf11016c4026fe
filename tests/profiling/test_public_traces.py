"""Traces from real GPUs against counts made with the json module, by other means than the reader's."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perftui.trainer.profiling.analysis import analyse_trace
from perftui.trainer.profiling.kernels import kernel_rows
from perftui.trainer.profiling.nesting import nest
from perftui.trainer.profiling.operators import operator_rows
from perftui.trainer.profiling.steps import find_window
from perftui.trainer.profiling.trace_reader import read_trace

NO_LIMIT = 1_000_000


def load_events(path: Path) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return [event for event in events if event.get("ph") == "X"]


def test_counts_and_sums(public_trace: Path) -> None:
    events = load_events(public_trace)
    trace = read_trace(public_trace)
    nesting = nest(trace)
    window = find_window(trace, nesting)

    low, high = window.device_start_ns / 1000, window.device_end_ns / 1000
    kernels = [event for event in events if event["cat"] == "kernel" and low <= event["ts"] < high]
    rows = kernel_rows(trace, window, NO_LIMIT)
    assert {row.name: row.count for row in rows} == Counter(event["name"] for event in kernels)
    assert sum(row.total_us for row in rows) == pytest.approx(sum(event["dur"] for event in kernels))

    low, high = window.host_start_ns / 1000, window.host_end_ns / 1000
    operators = [
        event
        for event in events
        if event["cat"] in ("cpu_op", "user_annotation")
        and not event["name"].startswith("ProfilerStep")
        and low <= event["ts"] < high
    ]
    table = operator_rows(trace, nesting, window, NO_LIMIT)
    assert {row.name: row.count for row in table} == Counter(event["name"] for event in operators)
    assert all(row.self_cpu_us >= 0 and row.cpu_us >= row.self_cpu_us for row in table)
    assert all((row.device_us or 0) >= (row.self_device_us or 0) for row in table)
    assert sum(row.self_cpu_us for row in table) > 0


def test_device_time_is_shared_out_once(public_trace: Path) -> None:
    trace = read_trace(public_trace)
    nesting = nest(trace)
    owned_us = sum(
        (end - start) / 1000
        for owner, start, end in zip(nesting.owner, trace.device.start_ns, trace.device.end_ns, strict=True)
        if owner >= 0
    )
    whole = find_window(trace, nesting)
    table = operator_rows(trace, nesting, whole, NO_LIMIT)
    assert 0 < sum(row.self_device_us or 0 for row in table) <= owned_us * 1.000001


def test_figures_are_shares(public_trace: Path) -> None:
    figures, _ = analyse_trace(read_trace(public_trace), 0)
    busy = figures.profile.device_busy_share
    assert busy is not None
    assert 0 < busy <= 1
    assert figures.profile.loader_share is None or 0 <= figures.profile.loader_share <= 1
    assert 0 < len(figures.profile.operators) <= 60
    assert 0 < len(figures.profile.kernels) <= 40


def test_external_ids_agree_with_nesting(trace_folder: Path) -> None:
    """Where a trace names the launching operator outright, following the launch must find the same one."""
    trace = read_trace(trace_folder / "h200_resnet50_bs128.json.gz")
    nesting = nest(trace)
    pairs = [
        (trace.host.external[owner], external)
        for owner, external in zip(nesting.owner, trace.device.external, strict=True)
        if owner >= 0
    ]
    assert len(pairs) > 9000
    assert sum(owner != external for owner, external in pairs) == 0
