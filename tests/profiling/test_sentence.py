"""The one sentence: what it says of made traces."""

import re
from pathlib import Path

import pytest

from perftui.trainer.profiling.analysis import analyse_files
from perftui.trainer.profiling.sentence import rank_sentence
from perftui.trainer.profiling.undistorted import with_distortion
from tests.profiling.conftest import Reporter
from tests.profiling.trace_maker import SIDE, STREAM, TraceMaker


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


def test_copies_to_pageable_memory_are_no_copies_from_it(reported: Reporter) -> None:
    """`.cpu()` of outputs in each step."""
    maker = made()
    for _ in range(3):
        maker.step()
        maker.copy(400_000, "DtoH (Device -> Pageable)", size=1 << 21, call_ns=420_000)
        maker.compute(600_000)
    assert reported(maker).sentence == (
        "Copies to pageable memory kept the GPU from computing for 40 % of these 4 steps "
        "(DtoH (Device -> Pageable) at 4.9 GiB/s); the GPU computed for 60 %."
    )


@pytest.mark.parametrize(("from_us", "to_us", "way"), [(300, 250, "from"), (250, 300, "to")])
def test_both_ways_are_told_apart(reported: Reporter, from_us: int, to_us: int, way: str) -> None:
    maker = made()
    for _ in range(3):
        maker.step()
        maker.copy(from_us * 1000, "HtoD (Pageable -> Device)", call_ns=from_us * 1000)
        maker.copy(to_us * 1000, "DtoH (Device -> Pageable)", call_ns=to_us * 1000)
        maker.compute(450_000)
    assert reported(maker).sentence.startswith(
        f"Copies {way} pageable memory kept the GPU from computing for 30 % of these 4 steps"
    )


@pytest.mark.parametrize("kind", ["HtoD (Pageable -> Device)", "HtoD (Pinned -> Device)"])
def test_copies_on_one_of_two_devices_are_a_share_of_both(reported: Reporter, kind: str) -> None:
    """Device 0 copies for 700 µs of 1000 while device 1 computes, which then copies for 100 µs."""
    maker = TraceMaker()
    for _ in range(3):
        maker.step()
        for device, at_us, us in ((0, 0, 700), (1, 900, 100)):
            began = maker.now_ns + at_us * 1000
            maker.add("gpu_memcpy", f"Memcpy {kind}", began, us * 1000, STREAM, device=device, stream=STREAM,
                      correlation=maker.launch(began, us * 1000, "cudaMemcpyAsync"), bytes=4096)  # fmt: skip
        for device, at_us, us in ((0, 700, 300), (1, 0, 900)):
            began = maker.now_ns + at_us * 1000
            maker.add("kernel", "gemm", began, us * 1000, STREAM, device=device, stream=STREAM,
                      correlation=maker.launch(began - 1000, 500))  # fmt: skip
        maker.now_ns += 1_000_000
    report = reported(maker)
    assert report.devices == 2
    assert report.gpu is not None
    assert report.gpu.mem_exposed == pytest.approx(0.4)
    assert " 40 % of these 3 steps" in report.sentence
    assert ("from pageable" in report.sentence) is ("Pageable" in kind)


def test_other_copies(reported: Reporter) -> None:
    maker = made()
    maker.step()
    maker.copy(600_000)
    maker.compute(399_000)
    assert reported(maker).sentence == (
        "Copies that nothing hid took 60 % of these 2 steps (most of it HtoD (Pinned -> Device)); "
        "the GPU computed for 40 %."
    )


def test_fills_are_no_copies(reported: Reporter) -> None:
    """Gradients set to zero rather than to None."""
    maker = made()
    for _ in range(3):
        maker.step()
        maker.add("gpu_memset", "Memset (Device)", maker.now_ns, 400_000, STREAM, device=0, stream=STREAM,
                  correlation=maker.launch(maker.now_ns, name="cudaMemsetAsync"), bytes=1 << 20)  # fmt: skip
        maker.now_ns += 400_000
        maker.compute(600_000)
    assert reported(maker).sentence == (
        "Fills that nothing hid took 40 % of these 4 steps (most of it Memset (Device)); "
        "the GPU computed for 60 %."
    )


def test_the_call_behind_which_the_gpu_ran_dry_is_named(reported: Reporter) -> None:
    """The host waits long for an event of the step before, and has work queued; then reads the loss."""
    maker = made()
    for _ in range(3):
        maker.step()
        maker.add("cpu_op", "throttle", maker.now_ns, 820_000)
        maker.add("cuda_runtime", "cudaEventSynchronize", maker.now_ns + 10_000, 800_000, correlation=1 << 40)
        maker.compute(900_000, ahead_ns=900)
        maker.compute(100_000, ahead_ns=10_000)
        maker.add("cpu_op", "aten::item", maker.now_ns - 60_000, 80_000)
        maker.add("cuda_runtime", "cudaStreamSynchronize", maker.now_ns - 50_000, 60_000, correlation=1 << 41)
        maker.idle(host_other=500_000)
    report = reported(maker)
    assert report.sentence.startswith(
        "The GPU ran dry for 33 % of these 4 steps behind calls that wait for it "
        "(cudaStreamSynchronize in aten::item)"
    )
    assert [(sync.operator, sync.drained_us) for sync in report.syncs] == [
        ("throttle", 0.0),
        ("aten::item", pytest.approx(1500)),
    ]


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


def test_the_collective_that_is_not_hidden_is_named(reported: Reporter) -> None:
    """An all-gather takes longer, and runs beside computing."""
    maker = made()
    for _ in range(3):
        maker.step()
        maker.communicate(300_000, **{"Collective name": "allreduce"})
        gather = maker.launch(maker.now_ns)
        maker.kernel(600_000, "ncclDevKernel_AllGather", SIDE, None, correlation=gather,
                     **{"Collective name": "allgather"})  # fmt: skip
        maker.compute(700_000)
    assert "took 30 % of these 4 steps (most of it allreduce); 67 % of" in reported(maker).sentence


def test_no_part_is_called_most_that_is_not(reported: Reporter) -> None:
    maker = made()
    for _ in range(3):
        maker.step()
        for name, us in (("allreduce", 110), ("allgather", 100), ("broadcast", 100)):
            maker.communicate(us * 1000, **{"Collective name": name})
        maker.compute(690_000)
    assert "took 31 % of these 4 steps (the largest part allreduce);" in reported(maker).sentence


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


SHORT_GAPS = re.compile(
    r"The GPU was idle for 3\d % of these \d steps in short gaps between kernels that had been launched "
    r"before; the GPU computed for 6\d %\."
)


def test_a_graph_of_short_kernels_leaves_gaps_that_are_not_the_host_s(reported: Reporter) -> None:
    """The host launches a whole step at once; kernels of 2.7 µs follow each other every 4 µs."""
    maker = made()
    for _ in range(3):
        maker.step()
        graph = maker.launch(maker.now_ns - 900, 800, "cudaGraphLaunch")
        for node in range(200):
            maker.kernel(2700, "gemm", correlation=graph, **{"graph node id": node + 1})
            maker.now_ns += 4000
    assert SHORT_GAPS.fullmatch(reported(maker).sentence)


def test_a_deep_queue_of_short_kernels_is_not_the_host_s(reported: Reporter) -> None:
    """Launches every 2.5 µs of kernels that run for 2.7 µs every 4: the host is further ahead with each."""
    maker = made()
    maker.step()
    launched_ns = maker.now_ns - 1000
    for _ in range(1000):
        maker.kernel(2700, correlation=maker.launch(launched_ns, 900))
        maker.now_ns += 4000
        launched_ns += 2500
    assert SHORT_GAPS.fullmatch(reported(maker).sentence)


def test_launch_latency_is_the_host_s_where_it_is_not_ahead(reported: Reporter) -> None:
    """Kernels of 40 µs, each launched 20 µs after the one before has ended, and 15 µs behind its call."""
    maker = made()
    maker.step()
    for _ in range(20):
        maker.compute(38_000)
        maker.idle(host_other=20_000, behind=15_000)
    report = reported(maker)
    assert report.sentence.startswith("Host-bound: the GPU was idle for 47 % of these 2 steps while")
    # One third of the window is the profiler's: what is left is the host's still.
    slower = with_distortion(report, sum(one.duration_us for one in report.steps) / 2 / 1000 / 1.2)
    assert rank_sentence(slower).startswith("Host-bound: the GPU was idle for 36 %")


def test_a_slow_launch_call_is_no_dependency(reported: Reporter) -> None:
    """Launching a large graph takes the host 400 µs; its first kernel starts when the call ends."""
    maker = made()
    for _ in range(4):
        maker.step()
        maker.idle(in_call=400_000)
        maker.compute(500_000)
    assert reported(maker).sentence == (
        "Host-bound: the GPU was idle for 44 % of these 5 steps while the host had not yet launched its next "
        "work; the GPU computed for 56 %."
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


def test_a_device_that_recorded_nothing(reported: Reporter) -> None:
    maker = made()
    maker.events = [one for one in maker.events if one["cat"] != "kernel"]
    assert reported(maker).sentence == (
        "What the GPU did cannot be told: the host launched kernels, but the device recorded nothing."
    )
