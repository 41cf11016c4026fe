"""Made traces: each stretch of time was put there on purpose, so every figure is known to the nanosecond."""

import random
from collections import Counter

import pytest

from perftui.ipc.trace_report import RankReport
from tests.profiling.conftest import Reporter
from tests.profiling.random_traces import random_trace
from tests.profiling.trace_maker import LOADER, MAIN, SIDE, STREAM, TraceMaker, op

GPU_PARTS = ("compute_only", "overlap", "comm_exposed", "mem_exposed")
IDLE_KINDS = ("loader", "sync_call", "host_other", "launch_latency", "dependency")


def check_parts(report: RankReport, truth: Counter[str], window_ns: int) -> None:
    assert report.gpu is not None
    assert report.idle is not None
    assert report.window_ms == pytest.approx(window_ns / 1e6, abs=1e-6)
    for part in GPU_PARTS:
        assert getattr(report.gpu, part) * window_ns == pytest.approx(truth[part], abs=0.5), part
    for kind in IDLE_KINDS:
        assert getattr(report.idle, kind) * window_ns == pytest.approx(truth[kind], abs=0.5), kind
    assert report.gpu.idle * window_ns == pytest.approx(sum(truth[kind] for kind in IDLE_KINDS), abs=0.5)
    assert report.queued_gap_share is not None
    assert report.queued_gap_share * window_ns == pytest.approx(truth["queued"], abs=0.5)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("api", ["cuda", "hip"])
def test_parts_and_idle_classes(reported: Reporter, seed: int, api: str) -> None:
    maker, window_ns = random_trace(seed, api)
    report = reported(maker)
    check_parts(report, maker.truth, window_ns)
    assert [check.name for check in report.trust if check.passed is False] == []


@pytest.mark.parametrize("seed", range(4))
def test_neither_order_nor_types_matter(reported: Reporter, seed: int) -> None:
    maker, window_ns = random_trace(seed)
    maker.end_step()
    random.Random(seed).shuffle(maker.events)
    maker.events = [
        {**one, "ts": repr(one["ts"]), "dur": str(one["dur"]), "tid": f"{one['tid']}"}
        | {"args": {name: str(value) for name, value in one["args"].items()}}
        for one in maker.events
    ]
    check_parts(reported(maker), maker.truth, window_ns)


def test_the_window_ends_with_the_last_work_that_a_step_launched(reported: Reporter) -> None:
    maker = TraceMaker()
    maker.step()
    maker.compute(10_000)
    late = maker.launch(maker.now_ns)
    maker.now_ns += 5000
    maker.end_step()
    maker.kernel(30_000, at_ns=maker.now_ns, correlation=late)
    maker.kernel(50_000, at_ns=maker.now_ns + 90_000, correlation=maker.launch(maker.now_ns + 80_000))
    report = reported(maker)
    assert report.window_ms == pytest.approx(0.045)
    assert report.gpu is not None
    assert report.gpu.compute_only == pytest.approx(40 / 45)


def test_a_missing_head_is_busy_but_not_linked(reported: Reporter) -> None:
    """A deep queue: kernels of the first half were launched before the trace began."""
    maker = TraceMaker()
    maker.step()
    for _ in range(5):
        maker.kernel(10_000, correlation=9_000_000 + maker.now_ns)
        maker.now_ns += 10_000
    for _ in range(5):
        maker.compute(10_000, ahead_ns=40_000)
    maker.end_step()
    report = reported(maker)
    assert report.gpu is not None
    assert report.gpu.compute_only == pytest.approx(1)
    unlinked = next(check for check in report.trust if check.name == "unlinked")
    assert (unlinked.passed, unlinked.value) == (False, 0.5)
    assert unlinked.suppresses == ["launches", "queue"]
    assert report.launches is not None
    assert report.launches.count == 5
    assert "50% of device events have no launch in the trace" in report.notes


@pytest.mark.parametrize(("linked", "said"), [(True, "Host-bound"), (False, "why cannot be told")])
def test_a_head_of_before_hides_the_reason_of_idle_time_only_where_it_ends_it(
    reported: Reporter, linked: bool, said: str
) -> None:
    """Three of eight kernels were launched before the trace: in one run, or each after a pause."""
    maker = TraceMaker()
    maker.step()
    for _ in range(3):
        maker.kernel(40_000, correlation=9_000_000 + maker.now_ns)
        maker.now_ns += 40_000 if linked else 140_000
    for _ in range(5):
        maker.now_ns += 100_000 if linked else 0
        maker.compute(40_000)
    maker.end_step()
    report = reported(maker)
    idle = next(check for check in report.trust if check.name == "idle_unlinked")
    assert idle.passed is linked
    assert said in report.sentence


def test_overlap_of_streams_and_self_time(reported: Reporter) -> None:
    """Two kernels, 100 µs each, 40 µs of them at once."""
    maker = TraceMaker()
    maker.kernel(100_000, "first", correlation=maker.launch(maker.now_ns))
    maker.kernel(100_000, "second", SIDE, at_ns=maker.now_ns + 60_000, correlation=maker.launch(maker.now_ns))
    report = reported(maker)
    assert report.window_ms == pytest.approx(0.16)
    kernels = {kernel.name: kernel for kernel in report.kernels}
    assert [kernels[name].self_us for name in ("first", "second")] == [60.0, 60.0]
    assert [kernels[name].share for name in ("first", "second")] == [0.5, 0.5]


def test_estimates_from_launch_configurations(reported: Reporter) -> None:
    """40 µs of two kernels with 0.5 and 0.8 blocks per multiprocessor, 20 µs of them at once; 60 µs idle."""
    maker = TraceMaker()
    maker.step()
    wide: dict[str, object] = {"blocks per SM": 0.5, "est. achieved occupancy %": 30}
    wider: dict[str, object] = {"blocks per SM": 0.8, "est. achieved occupancy %": 60}
    maker.kernel(40_000, "a", STREAM, None, correlation=maker.launch(maker.now_ns), **wide)
    maker.kernel(40_000, "b", SIDE, maker.now_ns + 20_000, correlation=maker.launch(maker.now_ns), **wider)
    maker.now_ns += 120_000
    report = reported(maker)
    assert report.sm_efficiency == pytest.approx((0.5 * 20 + 1 * 20 + 0.8 * 20) / 120)
    assert report.occupancy == pytest.approx(0.45)


def test_queue_depth(reported: Reporter) -> None:
    """Three launches at once, each running 10 µs: depth 3 before the first, then 2, 1, 0 waiting."""
    maker = TraceMaker()
    maker.step()
    marks = [maker.launch(maker.now_ns + at) for at in (0, 1000, 2000)]
    maker.now_ns += 10_000
    for correlation in marks:
        maker.kernel(10_000, correlation=correlation)
        maker.now_ns += 10_000
    maker.end_step()
    (queue,) = reported(maker).queue
    assert (queue.device, queue.stream, queue.max_depth, queue.full_share) == (0, STREAM, 3, 0.0)
    assert queue.mean_depth == pytest.approx((1 * 1 + 2 * 1 + 3 * 8 + 2 * 10 + 1 * 10) / 40)


def test_a_full_queue(reported: Reporter) -> None:
    maker = TraceMaker()
    maker.step()
    marks = [maker.launch(maker.now_ns, 0) for _ in range(1001)]
    for correlation in marks:
        maker.kernel(1000, correlation=correlation)
        maker.now_ns += 1000
    maker.end_step()
    (queue,) = reported(maker).queue
    assert queue.max_depth == 1000
    assert queue.full_share == pytest.approx(1 / 1001)


def test_launch_statistics(reported: Reporter) -> None:
    maker = TraceMaker()
    maker.step()
    for delay_ns, call_ns, kernel_ns in ((2000, 4000, 3000), (150_000, 60_000, 90_000), (0, 5000, 5000)):
        correlation = maker.launch(maker.now_ns, call_ns)
        maker.now_ns += call_ns + delay_ns
        maker.kernel(kernel_ns, correlation=correlation)
        maker.now_ns += kernel_ns
    maker.end_step()
    launches = reported(maker).launches
    assert launches is not None
    assert (launches.count, launches.per_step, launches.slow_calls, launches.long_delays) == (3, 3, 1, 1)
    assert (launches.call_us_total, launches.call_us_p50, launches.call_us_max) == (69.0, 5.0, 60.0)
    assert (launches.delay_us_p50, launches.delay_us_max) == (2.0, 150.0)
    assert launches.delay_us_p90 == pytest.approx(2 + 0.8 * 148)
    assert launches.short_share == pytest.approx(1 / 3)
    assert launches.device_us_p50 == 5.0


@pytest.mark.parametrize(
    ("api", "driver"), [("cuda", "cuLaunchKernelEx"), ("hip", "hipExtModuleLaunchKernel")]
)
def test_graphs_and_driver_launches_count_once(reported: Reporter, api: str, driver: str) -> None:
    maker = TraceMaker(api=api)
    maker.step()
    graph = maker.launch(maker.now_ns, 8000, f"{api}GraphLaunch")
    maker.now_ns += 10_000
    for node in range(5):
        maker.kernel(2000, f"triton_poi_{node}", correlation=graph, **{"graph node id": node + 1})
        maker.now_ns += 2000
    maker.kernel(4000, correlation=maker.launch(maker.now_ns, 1000, driver))
    maker.now_ns += 4000
    maker.end_step()
    report = reported(maker)
    assert report.launches is not None
    assert (report.launches.count, report.launches.graph_launches, report.launches.driver_launches) == (
        2,
        1,
        1,
    )
    assert report.launches.delay_us_max == 2.0
    assert report.launches.device_us_p50 == 7.0, "the graph's kernels together took 10 µs"
    assert sum(kernel.count for kernel in report.kernels) == 6
    assert {kernel.kind for kernel in report.kernels} == {"triton", "gemm"}
    checks = {check.name: check.passed for check in report.trust}
    assert checks["graphs_on_rocm"] is (False if api == "hip" else None)


def test_the_launch_of_a_large_graph_is_the_host_s_until_its_call_ends(reported: Reporter) -> None:
    """400 µs in the call; the first kernel 10 µs before its end; then short gaps, and one of 40 µs."""
    maker = TraceMaker()
    maker.step()
    maker.compute(100_000)
    graph = maker.launch(maker.now_ns, 400_000, "cudaGraphLaunch")
    for gap_ns in (390_000, 2000, 6000, 40_000):
        maker.now_ns += gap_ns
        maker.kernel(1000, "gemm", correlation=graph, **{"graph node id": 1})
        maker.now_ns += 1000
    maker.end_step()
    report = reported(maker)
    assert report.idle is not None
    assert report.queued_gap_share is not None
    assert report.window_ms == pytest.approx(0.542)
    assert report.idle.host_other * 542 == pytest.approx(390)
    assert report.idle.launch_latency * 542 == pytest.approx(8)
    assert report.queued_gap_share * 542 == pytest.approx(8)
    assert report.idle.dependency * 542 == pytest.approx(40)


@pytest.mark.parametrize(
    ("in_call", "behind"), [(400_000, 0), (400_000, 29_000), (400_000, 31_000), (0, 31_000)]
)
def test_what_lasts_long_behind_a_call_begins_with_its_end(
    reported: Reporter, in_call: int, behind: int
) -> None:
    maker = TraceMaker()
    maker.step()
    maker.compute(100_000)
    maker.idle(in_call=in_call, behind=behind)
    maker.end_step()
    check_parts(reported(maker), maker.truth, 102_000 + in_call + behind)


def test_a_short_launching_call_is_part_of_the_latency(reported: Reporter) -> None:
    """29 µs behind the start of the call, 20 of them in it."""
    maker = TraceMaker()
    maker.step()
    maker.compute(71_000)
    maker.kernel(900, at_ns=maker.now_ns + 29_000, correlation=maker.launch(maker.now_ns, 20_000))
    maker.now_ns += 100_000
    report = reported(maker)
    assert report.idle is not None
    assert report.idle.launch_latency * 171 == pytest.approx(29)
    assert report.queued_gap_share == 0


def test_staging_a_copy_is_waiting(reported: Reporter) -> None:
    """A copy from pageable memory: its call begins 5 µs after the device fell idle, the copy 40 µs later."""
    maker = TraceMaker()
    maker.step()
    maker.compute(100_000)
    maker.now_ns += 5000
    correlation = maker.launch(maker.now_ns, 60_000, "cudaMemcpyAsync")
    maker.add("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", maker.now_ns + 40_000, 15_000, STREAM,
              device=0, stream=STREAM, correlation=correlation, bytes=4096)  # fmt: skip
    maker.now_ns += 60_000
    maker.end_step()
    report = reported(maker)
    assert report.idle is not None
    assert report.idle.sync_call * 165 == pytest.approx(40 + 5)
    assert report.idle.host_other * 165 == pytest.approx(5)
    assert (report.idle.launch_latency, report.idle.dependency) == (0, 0)


def test_waits_of_threads_that_train_nothing_do_not_count(reported: Reporter) -> None:
    maker = TraceMaker()
    maker.step()
    maker.compute(10_000)
    maker.add("cuda_runtime", "cudaEventSynchronize", maker.now_ns, 50_000, tid="watchdog", correlation=77)
    maker.add("user_annotation", LOADER, maker.now_ns, 50_000, tid="prefetcher")
    maker.idle(host_other=50_000)
    report = reported(maker)
    assert report.idle is not None
    assert report.window_ms is not None
    assert report.idle.host_other * report.window_ms == pytest.approx(0.05)
    assert (report.idle.loader, report.idle.sync_call, report.syncs) == (0.0, 0.0, [])
    assert report.loader_share is None


def test_gaps_say_what_the_host_was_in(reported: Reporter) -> None:
    maker = TraceMaker()
    maker.step()
    maker.compute(10_000)
    maker.add("cpu_op", "aten::item", maker.now_ns - 1000, 90_000)
    maker.add("cpu_op", "aten::_local_scalar_dense", maker.now_ns, 80_000)
    maker.idle(host_other=100_000)
    maker.idle(loader=300_000)
    maker.idle(behind=50_000)
    maker.events.append(op("aten::unrelated", maker.now_ns / 1000, 1, MAIN + 1))
    maker.end_step()
    gaps = reported(maker).gaps
    assert [(gap.kind, gap.duration_us, gap.host, gap.before, gap.step) for gap in gaps] == [
        ("loader", 300.0, LOADER, "after", 1),
        ("host_other", 100.0, "aten::_local_scalar_dense", "after", 1),
        ("dependency", 50.0, None, "after", 1),
    ]
    assert gaps[1].start_us == pytest.approx(10.0)


def test_a_gap_behind_the_last_kernel_is_the_host_s(reported: Reporter) -> None:
    maker = TraceMaker()
    maker.step()
    maker.compute(10_000)
    maker.add("user_annotation", LOADER, maker.now_ns, 30_000)
    maker.now_ns += 50_000
    maker.end_step()
    report = reported(maker)
    assert report.idle is not None
    assert report.idle.loader == pytest.approx(30 / 60)
    assert report.idle.host_other == pytest.approx(20 / 60)
    assert report.gaps[0].before is None
