"""What the host did while the device idled, and how long it waited: made traces with a known truth."""

import pytest

from perftui.ipc.host_work import HostWaits, HostWork
from perftui.trainer.profiling.host_names import is_operator, issues
from tests.profiling.conftest import Reporter
from tests.profiling.trace_maker import AUTOGRAD, MAIN, STREAM, TraceMaker

MS = 1_000_000


def begun() -> TraceMaker:
    """A step that began with 1 ms of computing, launched by an operator."""
    maker = TraceMaker()
    maker.step()
    maker.add("cpu_op", "aten::mm", maker.now_ns, 2000)
    maker.compute(MS)
    return maker


def during(maker: TraceMaker, name: str, ns: int, tid: int = MAIN, cat: str = "cpu_op") -> None:
    """Let the device idle for a host span, which launches nothing."""
    maker.add(cat, name, maker.now_ns, ns, tid)
    maker.idle(host_other=ns)


def waits_before(maker: TraceMaker, ns: int, call: str = "cudaStreamSynchronize") -> None:
    """Let the host wait for the end of what the device has done so far."""
    maker.add("cuda_runtime", call, maker.now_ns - ns, ns)


def window_ns(maker: TraceMaker) -> int:
    return sum(maker.truth[kind] for kind in maker.truth if kind != "queued")


def close(maker: TraceMaker, work: HostWork | None, **truth_ns: int) -> None:
    assert work is not None
    whole = window_ns(maker)
    for kind in ("computing", "outside", "undrained"):
        assert getattr(work, kind) * whole == pytest.approx(truth_ns.get(kind, 0), abs=0.5), kind


@pytest.mark.parametrize(("ns", "counted"), [(100_000, True), (99_999, False)])
def test_operators_that_last_and_launch_nothing_compute(reported: Reporter, ns: int, counted: bool) -> None:
    maker = begun()
    during(maker, "aten::addmm", ns)
    close(maker, reported(maker).host_work, **(dict.fromkeys(("computing", "undrained"), ns * counted)))


def test_views_of_many_rows_compute_nothing(reported: Reporter) -> None:
    """Nor does what makes them; a copy within one does."""
    maker = begun()
    maker.add("cpu_op", "aten::reshape", maker.now_ns, 6 * MS)
    maker.add("cpu_op", "aten::copy_", maker.now_ns + MS, 2 * MS)
    during(maker, "aten::unbind", 7 * MS)
    close(maker, reported(maker).host_work, computing=2 * MS, undrained=2 * MS)


def test_an_operator_that_calls_the_device_computes_nothing(reported: Reporter) -> None:
    """The call lies in an operator within it."""
    maker = begun()
    maker.add("cpu_op", "aten::empty", maker.now_ns + 1000, 2 * MS)
    maker.add("cuda_runtime", "cudaMalloc", maker.now_ns + 2000, 2 * MS - 2000)
    during(maker, "aten::conv2d", 3 * MS)
    close(maker, reported(maker).host_work)


@pytest.mark.parametrize(("ns", "counted"), [(MS, True), (MS - 1, False)])
def test_long_stretches_outside_of_all_operators(reported: Reporter, ns: int, counted: bool) -> None:
    maker = begun()
    maker.add("cpu_op", "aten::empty", maker.now_ns - 1000, 1000)
    maker.add("cpu_op", "aten::mul", maker.now_ns + ns, 2000)
    maker.idle(host_other=ns)
    close(maker, reported(maker).host_work, **dict.fromkeys(("outside", "undrained"), ns * counted))


@pytest.mark.parametrize(
    ("name", "hides"),
    [
        ("make the batch", False),
        ("MyFunction", False),
        ("Optimizer.step#Adam.step", True),
        ("autograd::engine::evaluate_function: MmBackward0", True),
        ("Torch-Compiled Region: 0/0", True),
        ("c10d::allreduce_", True),
    ],
)
def test_marks_of_the_scripts_own_hide_no_stretch(reported: Reporter, name: str, hides: bool) -> None:
    maker = begun()
    maker.add("cpu_op", "aten::empty", maker.now_ns - 1000, 1000)
    during(maker, name, 4 * MS)
    close(maker, reported(maker).host_work, **({} if hides else {"outside": 4 * MS, "undrained": 4 * MS}))


def test_what_begins_behind_a_wait_is_told_apart(reported: Reporter) -> None:
    """The wait takes 0.3 ms; the computing behind it, and other computing, 5 ms and 2 ms."""
    maker = begun()
    waits_before(maker, 300_000)
    during(maker, "aten::addmm", 5 * MS)
    during(maker, "aten::mm", 2 * MS)
    report = reported(maker)
    close(maker, report.host_work, computing=7 * MS, undrained=2 * MS)
    whole = window_ns(maker)
    assert report.sync_drained_share is not None
    assert report.sync_drained_share * whole == pytest.approx(5 * MS, abs=0.5)
    assert report.host_waits is not None
    assert report.host_waits.in_calls == pytest.approx(0.3 * MS / whole, rel=0.01)
    assert report.sentence.startswith("The GPU was idle for 8")
    assert "while the host computed" in report.sentence


def test_the_sentence_of_a_script_that_works_itself(reported: Reporter) -> None:
    maker = begun()
    maker.add("cpu_op", "aten::empty", maker.now_ns - 1000, 1000)
    maker.idle(host_other=9 * MS)
    assert reported(maker).sentence == (
        "The GPU was idle for 90 % of this step while the host was in no operator for long: the script's own "
        "work; the GPU computed for 10 %."
    )


def test_other_threads_neither_compute_nor_issue(reported: Reporter) -> None:
    """A thread that launches nothing prepares a batch: beside it the training thread does something else."""
    maker = begun()
    maker.add("cpu_op", "aten::empty", maker.now_ns - 1000, 1000)
    during(maker, "aten::randn", 3 * MS, tid=AUTOGRAD + 7)
    close(maker, reported(maker).host_work, outside=3 * MS, undrained=3 * MS)


def test_loading_and_waiting_are_no_work(reported: Reporter) -> None:
    maker = begun()
    maker.idle(loader=3 * MS, sync_call=2 * MS)
    close(maker, reported(maker).host_work)


def test_without_operators_nothing_is_said(reported: Reporter) -> None:
    maker = TraceMaker()
    maker.step()
    maker.compute(MS)
    maker.idle(host_other=5 * MS)
    report = reported(maker)
    assert report.host_work is None
    assert report.host_waits == HostWaits(in_calls=0.0, in_operators=0.0)


def test_without_a_device_nothing_is_said(reported: Reporter) -> None:
    maker = TraceMaker()
    maker.step()
    maker.add("cpu_op", "aten::mm", maker.now_ns, MS)
    maker.now_ns += MS
    report = reported(maker)
    assert (report.host_work, report.host_waits) == (None, None)


def test_a_wait_costs_the_operators_that_make_it(reported: Reporter) -> None:
    """A read of 60 µs waits for 40 of them; marks and steps around it are not the read's."""
    maker = begun()
    at = maker.now_ns - 500_000
    maker.add("user_annotation", "all of it", at - 1000, 90_000)
    maker.add("cpu_op", "aten::item", at, 60_000)
    maker.add("cpu_op", "aten::_local_scalar_dense", at + 5000, 50_000)
    maker.add("cuda_runtime", "cudaStreamSynchronize", at + 10_000, 40_000)
    waits = reported(maker).host_waits
    assert waits is not None
    assert waits.in_calls * MS == pytest.approx(40_000)
    assert waits.in_operators * MS == pytest.approx(60_000)


def test_waits_of_copies_from_pageable_memory_are_left_out(reported: Reporter) -> None:
    """The copying call, and the wait for its stream that follows in the same operator."""
    maker = begun()
    maker.add("cpu_op", "aten::copy_", maker.now_ns - 1000, 80_000)
    maker.add("cuda_runtime", "cudaStreamSynchronize", maker.now_ns + 52_000, 20_000)
    maker.copy(50_000, "HtoD (Pageable -> Device)", call_ns=50_000)
    waits = reported(maker).host_waits
    assert waits == HostWaits(in_calls=0.0, in_operators=0.0)


@pytest.mark.parametrize(
    ("name", "operator", "issuing"),
    [
        ("aten::mm", True, True),
        ("torchvision::nms", True, True),
        ("mine::sort_all", True, True),
        ("autograd::engine::evaluate_function: MmBackward0", False, True),
        ("torch::autograd::AccumulateGrad", False, True),
        ("c10d::allreduce_", False, True),
        ("_c10d_functional::all_reduce", False, True),
        ("nccl:all_reduce", False, False),
        ("Optimizer.step#SGD.step", False, True),
        ("MyFunction", False, False),
        ("load and augment", False, False),
    ],
)
def test_names(name: str, operator: bool, issuing: bool) -> None:
    assert (is_operator(name), issues(name)) == (operator, issuing)


def test_device_work_of_several_streams_is_idle_once(reported: Reporter) -> None:
    """Computing counts where nothing ran on the device: half of it here."""
    maker = begun()
    maker.kernel(2 * MS, stream=STREAM + 1, correlation=maker.launch(maker.now_ns - 2000))
    maker.add("cpu_op", "aten::addmm", maker.now_ns, 4 * MS)
    maker.now_ns += 2 * MS
    maker.idle(host_other=2 * MS)
    work = reported(maker).host_work
    assert work is not None
    assert work.computing * (window_ns(maker) + 2 * MS) == pytest.approx(2 * MS, abs=0.5)
