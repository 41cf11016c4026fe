"""Figures of traces small enough to check by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perftui.ipc.view import OperatorRow
from perftui.trainer.profiling.analysis import analyse_files, analyse_trace
from perftui.trainer.profiling.steps import union_ns
from perftui.trainer.profiling.trace_reader import read_trace

Event = dict[str, Any]
TraceWriter = Callable[..., Path]
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def span(cat: str, name: str, start: float, duration: float, tid: int | str = 1, **args: object) -> Event:
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": 7,
        "tid": tid,
        "ts": start,
        "dur": duration,
        "args": args,
    }


def op(name: str, start: float, duration: float, tid: int | str = 1, **args: object) -> Event:
    return span("cpu_op", name, start, duration, tid, **args)


def step(number: int, start: float, duration: float) -> Event:
    return span("user_annotation", f"ProfilerStep#{number}", start, duration)


def host_steps() -> list[Event]:
    """Two steps of 100 µs; 70 µs of the first and 50 µs of the second are a fetch."""
    return [
        step(4, 1000, 100),
        step(5, 1100, 100),
        span("user_annotation", LOADER, 1000, 70),
        op("aten::stack", 1010, 20),
        span("user_annotation", LOADER, 1100, 50),
        op("aten::linear", 1070, 20),
        op("aten::addmm", 1075, 10),
        op("aten::linear", 1150, 30),
        op("aten::addmm", 1155, 20),
        op("aten::linear", 1300, 99),  # after the last step
    ]


def rows_by_name(rows: list[OperatorRow]) -> dict[str, OperatorRow]:
    return {row.name: row for row in rows}


def test_nested_operators_lose_their_children_s_time(write_trace: TraceWriter) -> None:
    figures, notes = analyse_trace(read_trace(write_trace(host_steps())), 0)
    rows = rows_by_name(figures.profile.operators)
    linear = rows["aten::linear"]
    assert (linear.count, linear.self_cpu_us, linear.cpu_us) == (2, 20.0, 50.0)
    assert (linear.self_device_us, linear.device_us) == (None, None)
    assert linear.share == pytest.approx(20 / 200)
    assert (rows["aten::addmm"].self_cpu_us, rows["aten::addmm"].cpu_us) == (30.0, 30.0)
    assert (rows[LOADER].count, rows[LOADER].self_cpu_us, rows[LOADER].cpu_us) == (2, 100.0, 120.0)
    assert not [name for name in rows if name.startswith("ProfilerStep")]
    assert notes == []


def test_window_loader_and_sentence(write_trace: TraceWriter) -> None:
    figures, _ = analyse_trace(read_trace(write_trace(host_steps())), 3)
    profile = figures.profile
    assert profile.rank == 3
    assert profile.window_ms == pytest.approx(0.2)
    assert profile.loader_share == pytest.approx(0.6)
    assert profile.device_busy_share is None
    assert profile.kernels == []
    assert profile.operators[0].name == LOADER
    sentence = analyse_files([(3, write_trace(host_steps()))]).sentence
    assert sentence == (
        "60 % of these 2 steps went into the loader's __next__ in the training thread; "
        "the largest operator is aten::addmm, 15 %."
    )


def test_threads_do_not_contain_each_other(write_trace: TraceWriter) -> None:
    events = [
        op("aten::conv2d", 0, 100, tid=1),
        op("aten::mm", 10, 50, tid="autograd 2"),
        op("aten::mm", 20, 10, tid="autograd 2"),
    ]
    rows = rows_by_name(analyse_trace(read_trace(write_trace(events)), 0)[0].profile.operators)
    assert rows["aten::conv2d"].self_cpu_us == 100.0
    mm = rows["aten::mm"]
    assert (mm.count, mm.self_cpu_us) == (2, 50.0)
    assert mm.cpu_us == 50.0, "an operator inside its namesake must not count twice"


def test_loader_in_another_thread_is_not_the_training_s_wait(write_trace: TraceWriter) -> None:
    events = [step(1, 0, 100), span("user_annotation", LOADER, 0, 90, tid=2), op("aten::mm", 5, 50)]
    figures, _ = analyse_trace(read_trace(write_trace(events)), 0)
    assert figures.profile.loader_share is None


def device_steps() -> list[Event]:
    """Two steps of 100 µs whose kernels run late: the second of them ends 60 µs after the last step."""
    return [
        step(1, 0, 100),
        step(2, 100, 100),
        span("gpu_user_annotation", "ProfilerStep#1", 40, 400, tid=7),
        op("aten::linear", 10, 40, **{"External id": 11}),
        op("aten::addmm", 15, 30, **{"External id": 12}),
        span("cuda_runtime", "cudaLaunchKernel", 20, 5, correlation=901, **{"External id": 12}),
        span("kernel", "gemm", 60, 80, tid=7, correlation=901, **{"External id": 12}),
        op("aten::relu", 110, 10, **{"External id": 13}),
        span("cuda_runtime", "cudaLaunchKernel", 112, 5, correlation=902, **{"External id": 13}),
        span("kernel", "relu", 200, 60, tid=7, correlation=902, **{"External id": 13}),
        # launched in a step by a call outside of all operators; its number is that of a stranger
        span("cuda_runtime", "cudaMemcpyAsync", 130, 5, correlation=11, **{"External id": 11}),
        span("gpu_memcpy", "Memcpy HtoD", 150, 20, tid=8, correlation=11, **{"External id": 11}),
        # launched before the trace began
        span("kernel", "stray", 0, 10, tid=7, correlation=800),
        # no launch in the trace, but an operator is named
        span("kernel", "gemm", 20, 10, tid=7, correlation=801, **{"External id": 13}),
    ]


def test_kernels_belong_to_the_operator_that_launched_them(write_trace: TraceWriter) -> None:
    figures, notes = analyse_trace(read_trace(write_trace(device_steps())), 0)
    profile = figures.profile
    assert profile.window_ms == pytest.approx(0.26)
    assert profile.device_busy_share == pytest.approx((10 + 10 + 80 + 20 + 60) / 260)
    rows = rows_by_name(profile.operators)
    assert (rows["aten::linear"].self_device_us, rows["aten::linear"].device_us) == (0.0, 80.0)
    assert (rows["aten::addmm"].self_device_us, rows["aten::addmm"].device_us) == (80.0, 80.0)
    assert rows["aten::relu"].self_device_us == 70.0
    assert rows["aten::relu"].share == pytest.approx(70 / 260)
    kernels = {row.name: (row.count, row.total_us) for row in profile.kernels}
    assert kernels == {"gemm": (2, 90.0), "relu": (1, 60.0), "stray": (1, 10.0)}
    assert profile.kernels[0].share == pytest.approx(90 / 180)
    assert notes == [
        "11 % of the device's time went into copies and fills",
        "40 % of device events belong to no operator in the trace",
    ]


def test_device_sentence(write_trace: TraceWriter) -> None:
    events = [*device_steps(), span("user_annotation", LOADER, 0, 1)]
    assert analyse_files([(0, write_trace(events))]).sentence == (
        "The GPU was busy for 69 % of these 2 steps; "
        "the largest operator is aten::addmm, 31 % in device time; the loader's __next__ took under 1 %."
    )


def test_without_marks_the_whole_trace_counts(write_trace: TraceWriter) -> None:
    answer = analyse_files([(0, write_trace([op("aten::mm", 100, 3000), op("aten::add", 3100, 1000)]))])
    assert answer.ranks[0].window_ms == pytest.approx(4.0)
    assert answer.sentence == "In this 4 ms trace (no step marks) the largest operator is aten::mm, 75 %."
    assert answer.notes[0].startswith("rank 0: no step marks")


def test_device_events_alone(write_trace: TraceWriter) -> None:
    figures, _ = analyse_trace(
        read_trace(write_trace([span("kernel", "k", 5, 10), span("kernel", "k", 25, 10)])), 0
    )
    assert figures.profile.device_busy_share == pytest.approx(20 / 30)
    assert figures.profile.operators == []


def test_lenient_types_and_gzip(write_trace: TraceWriter, tmp_path: Path) -> None:
    events = device_steps()
    strings = [
        {**event, "ts": str(event["ts"]), "dur": str(event["dur"]), "tid": f"stream {event['tid']}"}
        | {"args": {key: str(value) for key, value in event["args"].items()}}
        for event in events
    ]
    expected, _ = analyse_trace(read_trace(write_trace(events)), 0)
    lenient, _ = analyse_trace(read_trace(write_trace(strings, "strings.json.gz")), 0)
    assert lenient == expected


@pytest.mark.parametrize("bad", ["NaN", "-Infinity", "N/A"])
def test_numbers_that_json_does_not_know(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "nan.json"
    path.write_text(
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "NaN, kept", "ts": 1, "dur": 2, '
        f'"args": {{"est. achieved occupancy %": {bad}, "correlation": {bad}}}}}]}}'
    )
    assert read_trace(path).device.name == ["NaN, kept"]


def test_an_array_of_events_is_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "array.json"
    path.write_text('[{"ph":"M","name":"x"},{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":2.5}]')
    assert read_trace(path).host.end_ns == [3500]


def test_the_loader_s_row_survives_the_cut(write_trace: TraceWriter) -> None:
    events = [step(1, 0, 10_000), span("user_annotation", LOADER, 9000, 1)]
    events += [op(f"aten::op{number}", number * 10, 5) for number in range(100)]
    profile = analyse_trace(read_trace(write_trace(events)), 0)[0].profile
    assert len(profile.operators) == 60
    assert profile.operators[-1].name == LOADER


def test_several_ranks_name_the_one_that_waits(write_trace: TraceWriter) -> None:
    calm = write_trace(
        [step(1, 0, 100), op("aten::mm", 10, 80), span("user_annotation", LOADER, 0, 5)], "calm.json"
    )
    starved = write_trace(host_steps(), "starved.json")
    answer = analyse_files([(0, calm), (1, starved)])
    assert answer.sentence.startswith("Rank 1 of 2 recorded: 60 % of these 2 steps went into the loader's")
    assert [profile.rank for profile in answer.ranks] == [0, 1]


def test_union() -> None:
    assert union_ns([(0, 10), (5, 8), (9, 20), (30, 40)], 2, 35) == 18 + 5
    assert union_ns([], 0, 5) == 0
