"""The one sentence: what it says of made traces, at its thresholds, and when a check fails."""

import re
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.trace_report import (
    CopyFigures,
    GpuShares,
    IdleShares,
    LaunchFigures,
    RankReport,
    StepSpan,
    SyncFigures,
    TrustCheck,
)
from perftui.trainer.profiling.analysis import analyse_files
from perftui.trainer.profiling.sentence import rank_sentence, report_sentence
from perftui.trainer.profiling.thresholds import (
    COMPUTE_BOUND,
    LAUNCH_BOUND_DELAY_US,
    LAUNCH_BOUND_SHORT_SHARE,
    LOSS_LEADS,
    MANY_READS,
)
from perftui.trainer.profiling.undistorted import with_distortion
from tests.profiling.conftest import Reporter
from tests.profiling.trace_maker import TraceMaker

ADVICE = re.compile(
    r"\b(should|try|increase|use|set|enable|consider|num_workers|pin_memory)\b", re.IGNORECASE
)


def made(stretches: int = 10) -> TraceMaker:
    maker = TraceMaker()
    maker.step()
    maker.compute(1000)
    return maker


def test_loader_bound(reported: Reporter) -> None:
    maker = made()
    for _ in range(3):
        maker.step()
        maker.idle(loader=700_000)
        maker.compute(298_000)
    report = reported(maker)
    assert report.sentence == (
        "The GPU waited for the data loader for 70 % of these 4 steps; the GPU computed for 30 %."
    )


def test_launch_bound(reported: Reporter) -> None:
    """Kernels of 2 µs, launched by calls of 5 µs, one every 20 µs."""
    maker = made()
    for _ in range(4):
        maker.step()
        for _ in range(50):
            maker.now_ns += 13_000
            correlation = maker.launch(maker.now_ns, 5000)
            maker.now_ns += 5000
            maker.kernel(2000, correlation=correlation)
            maker.now_ns += 2000
    assert reported(maker).sentence == (
        "Launch-bound: the GPU was idle for 90 % of these 5 steps because the host did not launch fast "
        "enough; "
        "100 % of the launches did less work than their call took; the GPU computed for 10 %."
    )


def test_host_bound(reported: Reporter) -> None:
    """Long kernels, and long pauses of the host between them."""
    maker = made()
    for _ in range(3):
        maker.step()
        maker.idle(host_other=500_000)
        maker.compute(498_000)
    assert reported(maker).sentence == (
        "Host-bound: the GPU was idle for 50 % of these 4 steps while the host had not yet launched its next "
        "work; "
        "the GPU computed for 50 %."
    )


def test_sync_each_step(reported: Reporter) -> None:
    """`loss.item()` drains the queue; then the host is busy until its next launch."""
    maker = made()
    for _ in range(3):
        maker.step()
        maker.compute(600_000)
        maker.add("cpu_op", "aten::item", maker.now_ns - 500_000, 512_000)
        maker.add(
            "cuda_runtime", "cudaStreamSynchronize", maker.now_ns - 499_000, 510_000, correlation=1 << 40
        )
        maker.idle(host_other=400_000)
    report = reported(maker)
    assert report.sync_drained_share == pytest.approx(0.4, abs=0.002)
    assert report.sentence == (
        "The GPU ran dry for 40 % of these 4 steps behind calls that wait for it "
        "(cudaStreamSynchronize in aten::item); the GPU computed for 60 %."
    )


@pytest.mark.parametrize("side", ["Pinned", "Pageable"])
def test_reading_the_loss_after_a_heavy_step(reported: Reporter, side: str) -> None:
    """As `.item()` is recorded: a copy of four bytes behind the queue, the wait, then the script's own work.

    Where the copy goes to pageable memory the call that asks for it waits already.
    """
    maker = made()
    for _ in range(3):
        maker.step()
        maker.compute(6_000_000, ahead_ns=500)
        asked, done = maker.now_ns - 5_900_000, maker.now_ns + 2000
        maker.add("cpu_op", "aten::_local_scalar_dense", asked, done + 12_000 - asked)
        waits = done + 4000 - asked - 2000 if side == "Pageable" else 9000
        correlation = maker.launch(asked + 2000, waits, "cudaMemcpyAsync")
        maker.add("gpu_memcpy", f"Memcpy DtoH (Device -> {side})", maker.now_ns, 2000, 7, device=0, stream=7,
                  correlation=correlation, bytes=4)  # fmt: skip
        begin = asked + 2000 + waits + 500
        maker.add("cuda_runtime", "cudaStreamSynchronize", begin, max(done + 8000 - begin, 500))
        maker.now_ns = done
        maker.idle(host_other=3_992_000)
    report = reported(maker)
    assert report.sync_drained_share == pytest.approx(0.4, abs=0.01)
    assert report.sentence == (
        "The GPU ran dry for 40 % of these 4 steps behind calls that wait for it "
        "(cudaStreamSynchronize in aten::_local_scalar_dense); the GPU computed for 60 %."
    )
    # The profiler made the step longer by a tenth, all of it on the host: the reading still leads.
    slower = with_distortion(report, sum(one.duration_us for one in report.steps) / 4 / 1000 / 1.1)
    said = rank_sentence(slower)
    assert said.startswith("The GPU ran dry for 34 % of these 4 steps behind calls that wait")


def test_two_ranks_that_communicate_as_long_as_each_other(tmp_path: Path) -> None:
    """Communication leads, and neither rank is called late for the few microseconds between them."""
    paths: list[Path] = []
    for rank in range(2):
        maker = TraceMaker(head={"distributedInfo": {"rank": rank, "world_size": 2}})
        for step in range(3):
            maker.step()
            maker.compute(2_000_000)
            late_ns = 40_000 if (step + rank) % 2 else 0
            maker.communicate(4_000_000 - late_ns, **{"Collective name": "allreduce", "Seq": step})
            maker.compute(1_500_000)
        paths.append(maker.write(tmp_path / f"rank{rank}.json"))
    report = analyse_files(paths)
    assert report.straggler is None
    assert report.sentence == (
        "Rank 0 of 2 recorded: communication that no computing hid took 53 % of these 3 steps "
        "(most of it allreduce); 0 % of communication was hidden; the GPU computed for 47 %."
    )


def test_pageable_copies(reported: Reporter) -> None:
    maker = made()
    for _ in range(3):
        maker.step()
        maker.copy(400_000, "HtoD (Pageable -> Device)", size=1 << 21, call_ns=420_000)
        maker.now_ns += 100_000
        maker.compute(500_000)
    report = reported(maker)
    assert report.sentence == (
        "Copies from pageable memory kept the GPU from computing for 50 % of these 4 steps "
        "(HtoD (Pageable -> Device) at 4.9 GiB/s); the GPU computed for 50 %."
    )


def test_other_copies(reported: Reporter) -> None:
    maker = made()
    maker.step()
    maker.copy(600_000)
    maker.compute(399_000)
    assert reported(maker).sentence == (
        "Copies that nothing hid took 60 % of these 2 steps; the GPU computed for 40 %."
    )


def test_communication_bound(reported: Reporter) -> None:
    maker = made()
    for _ in range(3):
        maker.step()
        maker.communicate(500_000, **{"Collective name": "allreduce", "Process Group Name": "0"})
        maker.overlap(100_000)
        maker.compute(400_000)
    assert reported(maker).sentence == (
        "Communication that no computing hid took 50 % of these 4 steps (most of it allreduce); "
        "17 % of communication was hidden; the GPU computed for 50 %."
    )


def test_waiting_for_another_stream(reported: Reporter) -> None:
    maker = made()
    maker.step()
    for _ in range(10):
        maker.compute(40_000)
        maker.idle(behind=58_000)
    assert reported(maker).sentence == (
        "The GPU was idle for 58 % of these 2 steps with work launched long before: it waited for another "
        "stream, "
        "an event or a collective; the GPU computed for 42 %."
    )


def test_compute_bound(reported: Reporter) -> None:
    maker = made()
    maker.step()
    maker.compute(950_000, "ampere_sgemm_128x64_nn")
    maker.idle(host_other=48_000)
    assert reported(maker).sentence == (
        "Compute-bound: the GPU computed for 95 % of these 2 steps; gemm kernels took 100 % of device time."
    )


def test_no_single_loss(reported: Reporter) -> None:
    maker = made()
    maker.step()
    maker.compute(696_000)
    maker.idle(loader=150_000)
    maker.communicate(149_000)
    assert reported(maker).sentence == (
        "The GPU computed for 70 % of these 2 steps, and no single loss dominates; the largest: "
        "the GPU waited for the data loader for 15 % of the time."
    )


# At the thresholds, from figures.


def figures(
    *,
    computed: float = 0.0,
    loader: float = 0.0,
    host: float = 0.0,
    drained: float = 0.0,
    comm: float = 0.0,
    trust: list[TrustCheck] | None = None,
    launches: LaunchFigures | None = None,
) -> RankReport:
    """Return a report of 1 s whose remaining time is a dependency."""
    idle = 1 - computed - comm
    return RankReport(
        rank=0,
        path="x",
        window_ms=1000.0,
        steps=[StepSpan(step=1, start_us=0, duration_us=1e6, device_busy_share=None, loader_share=loader)],
        gpu=GpuShares(compute_only=computed, overlap=0, comm_exposed=comm, mem_exposed=0, idle=idle),
        idle=IdleShares(
            loader=loader,
            sync_call=0,
            host_other=host,
            launch_latency=0,
            dependency=idle - loader - host,
        ),
        sync_drained_share=drained,
        copy_drained_share=0.0,
        trust=trust or [],
        launches=launches,
    )


def launched(delay_us: float, short_share: float) -> LaunchFigures:
    return LaunchFigures(
        count=1,
        graph_launches=0,
        driver_launches=0,
        per_step=1,
        call_us_total=1,
        call_us_p50=1,
        call_us_max=1,
        device_us_p50=1,
        delay_us_p50=delay_us,
        delay_us_p90=1,
        delay_us_max=1,
        short_share=short_share,
        slow_calls=0,
        long_delays=0,
    )


def test_a_loss_leads_from_its_threshold_on() -> None:
    at = figures(computed=1 - LOSS_LEADS, loader=LOSS_LEADS)
    below = figures(computed=1 - LOSS_LEADS + 0.001, loader=LOSS_LEADS - 0.001)
    assert rank_sentence(at).startswith("The GPU waited for the data loader for 20 % of this step;")
    assert rank_sentence(below).startswith("Compute-bound")


def test_compute_bound_from_its_threshold_on() -> None:
    half = (1 - COMPUTE_BOUND) / 2
    at = figures(computed=COMPUTE_BOUND, loader=half, host=half)
    below = figures(computed=COMPUTE_BOUND - 0.01, loader=half + 0.01, host=half)
    assert rank_sentence(at).startswith("Compute-bound")
    assert "no single loss dominates" in rank_sentence(below)


@pytest.mark.parametrize(
    ("delay_us", "short_share", "said"),
    [
        (LAUNCH_BOUND_DELAY_US - 0.01, LAUNCH_BOUND_SHORT_SHARE, "Launch-bound"),
        (LAUNCH_BOUND_DELAY_US, LAUNCH_BOUND_SHORT_SHARE, "Host-bound"),
        (LAUNCH_BOUND_DELAY_US - 0.01, LAUNCH_BOUND_SHORT_SHARE - 0.01, "Host-bound"),
    ],
)
def test_launch_bound_by_delay_and_short_launches(delay_us: float, short_share: float, said: str) -> None:
    report = figures(computed=0.4, host=0.6, launches=launched(delay_us, short_share))
    assert rank_sentence(report).startswith(said)


def _reading(reads: int, *, latency: float, drained: float, host: float = 0.6) -> RankReport:
    """Return a window of one step with 100 launches, of which so many are reads of values."""
    report = figures(computed=0.4 - latency, host=host, drained=drained, launches=launched(1.0, 0.9))
    assert report.idle is not None
    assert report.launches is not None
    copy = CopyFigures(
        kind="DtoH (Device -> Pinned)", pageable=False, count=reads, total_us=reads * 1.4, mib=0.0, gib_s=0.0,
        exposed_us=0.0, per_step=reads,
    )  # fmt: skip
    wait = SyncFigures(
        call="cudaStreamSynchronize", operator="aten::_local_scalar_dense", where=None, count=reads,
        per_step=reads, total_us=1.0, share=0.1,
    )  # fmt: skip
    return msgspec.structs.replace(
        report,
        idle=msgspec.structs.replace(report.idle, launch_latency=latency),
        launches=msgspec.structs.replace(report.launches, count=100),
        memcpy=[copy],
        syncs=[wait],
    )


def test_values_that_are_read_one_by_one_are_no_launches() -> None:
    """By what waits have drained alone launching would lead: 0.3 against 0.3 and 0.2 of latency."""
    said = rank_sentence(_reading(80, latency=0.2, drained=0.3))
    assert said.startswith(
        "The GPU ran dry for 46 % of this step behind calls that wait for it "
        "(cudaStreamSynchronize in aten::_local_scalar_dense, 80 a step)"
    )


@pytest.mark.parametrize(("reads", "said"), [(50, "Launch-bound"), (51, "Host-bound")])
def test_launches_are_not_to_blame_where_most_of_them_are_reads(reads: int, said: str) -> None:
    """And the device idles most of all before others."""
    assert rank_sentence(_reading(reads, latency=0.1, drained=0.1)).startswith(said)


@pytest.mark.parametrize(("reads", "said"), [(MANY_READS - 1, "Launch-bound"), (MANY_READS, "The GPU ran")])
def test_a_few_reads_are_told_by_their_waits_alone(reads: int, said: str) -> None:
    """0.29 of the window against 0.31, or with 16 % of a latency of 0.1 against 0.294."""
    made = _reading(reads, latency=0.1, drained=0.29, host=0.5)
    assert rank_sentence(made).startswith(said)


def test_the_largest_loss_is_named() -> None:
    assert "data loader" in rank_sentence(figures(computed=0.3, loader=0.4, host=0.3))
    assert "Host-bound" in rank_sentence(figures(computed=0.3, loader=0.3, host=0.4))
    assert "ran dry" in rank_sentence(figures(computed=0.3, host=0.7, drained=0.4))
    assert "Communication" in rank_sentence(figures(computed=0.3, comm=0.4, host=0.3))


def failed(name: str, text: str, *suppresses: str) -> TrustCheck:
    return TrustCheck(name=name, passed=False, value=0.5, text=text, suppresses=list(suppresses))


def test_a_failed_check_takes_the_cause_away() -> None:
    doubt = failed("unlinked", "50% of device events have no launch in the trace", "idle")
    assert rank_sentence(figures(computed=0.3, loader=0.7, trust=[doubt])) == (
        "The GPU computed for 30 % of this step and was idle for 70 %; why cannot be told: "
        "50% of device events have no launch in the trace."
    )
    assert rank_sentence(figures(computed=0.3, comm=0.7, trust=[doubt])).startswith("Communication")
    passed = msgspec.structs.replace(doubt, passed=True)
    assert "data loader" in rank_sentence(figures(computed=0.3, loader=0.7, trust=[passed]))


def test_a_failed_check_takes_everything_away() -> None:
    doubt = failed("compiling", "torch.compile was at work for 60% of the window", "gpu", "idle")
    assert rank_sentence(figures(computed=0.9, host=0.1, trust=[doubt])) == (
        "What the GPU did cannot be told: torch.compile was at work for 60% of the window; "
        "as recorded, it computed for 90 % of this step."
    )


def test_a_device_that_recorded_nothing(reported: Reporter) -> None:
    maker = made()
    maker.events = [one for one in maker.events if one["cat"] != "kernel"]
    assert reported(maker).sentence == (
        "What the GPU did cannot be told: the host launched kernels, but the device recorded nothing."
    )


def test_several_ranks() -> None:
    slow = msgspec.structs.replace(figures(computed=0.2, loader=0.8), rank=1)
    fast = figures(computed=0.9, host=0.1)
    ranks = [msgspec.structs.replace(one, sentence=rank_sentence(one)) for one in (fast, slow)]
    assert report_sentence(ranks, None, None).startswith(
        "Rank 1 of 2 recorded: the GPU waited for the data loader"
    )
    assert report_sentence(ranks, 1, 0.5).startswith(
        "The other ranks waited for rank 1 in collectives, 50 % of the window more than it waited itself; "
        "on rank 1: the GPU waited"
    )
    assert report_sentence(ranks[:1], None, None).startswith("Compute-bound")
    assert report_sentence([], None, None) == "No trace of this window could be read."


def test_it_never_advises() -> None:
    reports = [
        figures(computed=0.9, host=0.1),
        figures(computed=0.3, loader=0.7),
        figures(computed=0.3, host=0.7, drained=0.7),
        figures(computed=0.3, host=0.7, launches=launched(1, 1)),
        figures(computed=0.3, comm=0.7),
        figures(computed=0.6, host=0.1, loader=0.15),
    ]
    copy = CopyFigures(
        kind="HtoD (Pageable -> Device)",
        pageable=True,
        count=1,
        total_us=4e5,
        mib=1.0,
        gib_s=1.0,
        exposed_us=4e5,
        per_step=1,
    )
    sync = SyncFigures(
        call="cudaStreamSynchronize",
        operator="aten::item",
        where="t.py:3 f",
        count=2,
        per_step=2,
        total_us=1,
        share=0,
    )
    reports += [msgspec.structs.replace(one, memcpy=[copy], syncs=[sync]) for one in reports]
    for sentence in map(rank_sentence, reports):
        assert ADVICE.search(sentence) is None, sentence
    assert "(cudaStreamSynchronize in aten::item at t.py:3 f, 2 a step)" in rank_sentence(reports[8])
