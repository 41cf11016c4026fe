"""Traces from real GPUs against HTA's answers, and against counts made with the json module."""

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from perftui.ipc.trace_report import RankReport
from perftui.trainer.profiling.operator_table import operator_table
from perftui.trainer.profiling.rank_report import rank_report
from perftui.trainer.profiling.subject import Subject, prepare
from perftui.trainer.profiling.trace_reader import read_trace

NO_LIMIT = 1_000_000
TENTH = 0.1
"""Points of a per cent, and microseconds: HTA rounds to hundredths."""


@cache
def subject_of(path: Path) -> Subject:
    return prepare(read_trace(path))


@cache
def report_of(path: Path) -> RankReport:
    return rank_report(subject_of(path), 0, str(path))


def load_events(path: Path) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return [event for event in events if event.get("ph") == "X"]


def answers(path: Path, name: str) -> dict[str, Any]:
    everything: dict[str, Any] = json.loads((path.parent / name).read_text())
    answer: dict[str, Any] = everything[f"traces/{path.name}"]
    return answer


@pytest.fixture
def hta_answer(public_trace: Path) -> dict[str, Any]:
    """HTA 0.5.0's, all steps kept, nanoseconds kept."""
    return answers(public_trace, "hta_0.5.0_pandas2_ns_laststep.json")


def test_hta_shares(public_trace: Path, hta_answer: dict[str, Any]) -> None:
    hta = report_of(public_trace).hta
    assert hta is not None
    theirs = hta_answer["temporal_breakdown"][0]
    assert hta.idle_pct == pytest.approx(theirs["idle_time_pctg"], abs=TENTH)
    assert hta.compute_pct == pytest.approx(theirs["compute_time_pctg"], abs=TENTH)
    assert hta.non_compute_pct == pytest.approx(theirs["non_compute_time_pctg"], abs=TENTH)
    overlap = hta_answer["comm_comp_overlap"][0]["comp_comm_overlap_pctg"]
    if overlap != overlap:  # NaN
        assert hta.overlap_pct is None
    else:
        assert hta.overlap_pct == pytest.approx(overlap, abs=TENTH)


def test_hta_idle_classes(public_trace: Path, hta_answer: dict[str, Any]) -> None:
    hta = report_of(public_trace).hta
    assert hta is not None
    theirs = hta_answer["idle_breakdown_30"]["breakdown"]
    assert {str(row["stream"]) for row in theirs} == set(hta.idle_classes)
    for row in theirs:
        ours = hta.idle_classes[str(row["stream"])][row["idle_category"]]
        assert ours == pytest.approx(row["idle_time"], abs=TENTH)


def test_hta_launch_statistics(public_trace: Path, hta_answer: dict[str, Any]) -> None:
    hta = report_of(public_trace).hta
    assert hta is not None
    theirs, ours = hta_answer["launch_stats"], hta.launch_stats
    assert ours["n"] == theirs["n"]
    assert ours["short_kernels"] == theirs["short_kernels(gpu<cpu)"]
    assert ours["runtime_outliers"] == theirs["runtime_outliers(cpu>50)"]
    assert ours["launch_delay_outliers"] == theirs["launch_delay_outliers(>100)"]
    for title in ("cpu_duration", "gpu_duration", "launch_delay"):
        known = {name: value for name, value in theirs[title].items() if value == value}
        assert {name: ours[f"{title}_{name}"] for name in known} == pytest.approx(known, abs=TENTH)


def test_queue_depth_reaches_what_hta_s_does(public_trace: Path, hta_answer: dict[str, Any]) -> None:
    """The largest depth is the same; the mean is not, as HTA's is over events and ours over time."""
    ours = {figures.stream: figures.max_depth for figures in report_of(public_trace).queue}
    theirs = {row["stream"]: row["max"] for row in hta_answer["queue_length"]}
    assert {stream: ours[stream] for stream in theirs} == theirs  # on ROCm HTA has only one of two streams


def test_own_definitions_agree_with_a_second_opinion(public_trace: Path) -> None:
    report, other = report_of(public_trace), answers(public_trace, "own_definitions.json")
    assert report.gpu is not None
    assert report.window_ms == pytest.approx(other["span_ms"], abs=1e-5)
    assert [mark.step for mark in report.steps] == other["steps"]
    for part, percent in other["pct"].items():
        assert getattr(report.gpu, part) * 100 == pytest.approx(percent, abs=0.01)
    assert report.idle is not None
    # waiting calls count copies from and to pageable memory among them, which the other does not; the other
    # knows no end of a launching call, and takes what lies in a slow one for a dependency
    classes = other["idle_classes_pct_of_span"]
    host = sum(share for name, share in classes.items() if "host" in name)
    in_slow_calls = (report.idle.loader + report.idle.sync_call + report.idle.host_other) * 100 - host
    dependency = classes.get("dependency_or_other", 0.0)
    assert -0.02 <= in_slow_calls < 0.05
    assert report.idle.dependency * 100 == pytest.approx(dependency - in_slow_calls, abs=0.02)
    latency = other["idle_classes_pct_of_span"].get("launch_latency", 0.0)
    assert report.idle.launch_latency * 100 == pytest.approx(latency, abs=0.01)
    assert report.launches is not None
    assert report.launches.count == other["launch"]["linked"]
    assert report.launches.short_share * 100 == pytest.approx(
        other["launch"]["gpu_shorter_than_launch_pct"], abs=0.1
    )
    check_estimates(report, other)
    kinds = {f"Memcpy {copy.kind}".replace("Memcpy Memset", "Memset"): copy for copy in report.memcpy}
    for kind, figures in other["memcpy"].items():
        assert kinds[kind].count == figures["n"]
        assert kinds[kind].total_us == pytest.approx(figures["ms"] * 1000, abs=1)


def check_estimates(report: RankReport, other: dict[str, Any]) -> None:
    if other["est_sm_eff_pct_of_span"] is None:
        assert (report.sm_efficiency, report.occupancy) == (None, None)
        return
    assert report.sm_efficiency is not None
    assert report.occupancy is not None
    # the other adds kernels up that run at once, beyond all multiprocessors
    assert 0.9 * other["est_sm_eff_pct_of_span"] < report.sm_efficiency * 100
    assert report.sm_efficiency * 100 < other["est_sm_eff_pct_of_span"] + 0.01
    assert report.occupancy * 100 == pytest.approx(other["est_occupancy_pct"], abs=0.1)


def test_parts_are_disjoint_and_whole(public_trace: Path) -> None:
    report = report_of(public_trace)
    assert report.gpu is not None
    assert report.idle is not None
    gpu, idle = report.gpu, report.idle
    parts = (gpu.compute_only, gpu.overlap, gpu.comm_exposed, gpu.mem_exposed, gpu.idle)
    assert min(parts) >= 0
    assert sum(parts) == pytest.approx(1)
    kinds = (idle.loader, idle.sync_call, idle.host_other, idle.launch_latency, idle.dependency)
    assert min(kinds) >= 0
    assert sum(kinds) == pytest.approx(gpu.idle)
    assert report.window_ms is not None
    assert sum(gap.duration_us for gap in report.gaps) <= gpu.idle * report.window_ms * 1000 + 0.01


def test_counts_and_sums(public_trace: Path) -> None:
    events, subject, report = load_events(public_trace), subject_of(public_trace), report_of(public_trace)
    low, high = subject.window.start / 1000, subject.window.end / 1000
    kernels = [event for event in events if event["cat"] == "kernel" and low <= event["ts"] < high]
    rows = [row for row in report.kernels if row.kind != "copy"]
    assert {row.name: row.count for row in rows} == Counter(event["name"] for event in kernels)
    assert sum(row.total_us for row in rows) == pytest.approx(sum(event["dur"] for event in kernels))
    assert all(0 <= row.self_us <= row.total_us + 1e-6 for row in rows)
    assert sum(row.share for row in report.kernels) == pytest.approx(1)

    low, high = subject.window.host_start / 1000, subject.window.host_end / 1000
    operators = [
        event
        for event in events
        if event["cat"] in ("cpu_op", "user_annotation")
        and not event["name"].startswith("ProfilerStep")
        and low <= event["ts"] < high
    ]
    table = operator_table(subject, NO_LIMIT)
    assert {row.name: row.count for row in table} == Counter(event["name"] for event in operators)
    assert all(row.self_us >= 0 and row.total_us >= row.self_us - 1e-6 for row in table)
    assert all((row.device_us or 0) >= (row.self_device_us or 0) - 1e-6 for row in table)
    assert all(sum(one.count for one in row.callers) <= row.count for row in table)
    assert sum(row.self_us for row in table) > 0


def test_external_ids_agree_with_launches(trace_folder: Path) -> None:
    """Where a trace names the launching operator outright, following the launch must find the same one."""
    subject = subject_of(trace_folder / "h200_resnet50_bs128.json.gz")
    owner = subject.links.owner
    owned = owner >= 0
    assert owned.sum() > 9000
    assert (subject.trace.host.external[owner[owned]] == subject.trace.device.external[owned]).all()


def test_trust_on_real_traces(trace_folder: Path) -> None:
    failed = {
        name: [
            check.name for check in report_of(trace_folder / f"{name}.json.gz").trust if check.passed is False
        ]
        for name in (
            "tracelens_mi300_resnet_ddp8",
            "tracelens_h100_bert_small",
            "hta_dlrm8_a100_rank3_control",
        )
    }
    assert failed == {
        "tracelens_mi300_resnet_ddp8": ["unlinked", "idle_unlinked"],
        "tracelens_h100_bert_small": ["complete_steps"],
        "hta_dlrm8_a100_rank3_control": [],
    }
