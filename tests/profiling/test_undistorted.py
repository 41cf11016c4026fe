"""A window as it would have been without the profiler: parts and classes keep their sums."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perftui.ipc.host_work import HostWaits, HostWork
from perftui.ipc.trace_report import GpuShares, IdleShares, RankReport, StepSpan, TrustCheck
from perftui.trainer.profiling.sentence import rank_sentence
from perftui.trainer.profiling.undistorted import undistorted, with_distortion

UNASKED = TrustCheck(name="distortion", passed=None, value=None, text="needs the run's step times")


def report(step_ms: float, gpu: GpuShares, idle: IdleShares) -> RankReport:
    steps = [
        StepSpan(
            step=n,
            start_us=n * step_ms * 1e3,
            duration_us=step_ms * 1e3,
            device_busy_share=None,
            loader_share=0,
        )
        for n in range(3)
    ]
    return RankReport(
        rank=0, path="t", window_ms=3 * step_ms, steps=steps, gpu=gpu, idle=idle, trust=[UNASKED]
    )


def parts(idle: float) -> GpuShares:
    return GpuShares(compute_only=1 - idle, overlap=0, comm_exposed=0, mem_exposed=0, idle=idle)


def host(idle: float, *, loader: float = 0.0) -> IdleShares:
    return IdleShares(loader=loader, sync_call=0, host_other=idle - loader, launch_latency=0, dependency=0)


def test_a_gpu_that_is_kept_busy_is_not_called_idle_because_of_the_profiler() -> None:
    # a GPT of 19.65 ms a step; its first window on an H200 took 34 ms a step and saw the GPU idle for 44 %
    seen = report(34.0, parts(0.44), host(0.44))
    assert rank_sentence(seen).startswith("Host-bound: the GPU was idle for 44 % of these 3 steps")
    known = with_distortion(seen, 19.65)
    assert rank_sentence(known) == (
        "Compute-bound: the GPU computed for 97 % of these 3 steps "
        "(of a step of 19.6 ms, 34 ms under the profiler)."
    )
    check = next(one for one in known.trust if one.name == "distortion")
    assert check.passed is False
    assert check.value == pytest.approx(34.0 / 19.65)
    assert known.notes == [f"{check.text}: host times are inflated"]
    assert known.gpu == seen.gpu  # what was recorded stays as it is


def test_waits_and_work_of_the_hosts_own_last_as_long_without_the_profiler() -> None:
    """Steps of 30 ms for 20: of 100 parts of the window 34 are the profiler's."""
    waits = HostWaits(in_calls=0.2, in_operators=0.25)
    work = HostWork(computing=0.1, outside=0.2, undrained=0.15)
    seen = replace(report(30.0, parts(0.8), host(0.8)), host_waits=waits, host_work=work)
    corrected = undistorted(with_distortion(seen, 20.0))
    assert corrected.host_waits is not None
    assert corrected.host_waits.in_calls == pytest.approx(0.3)
    assert corrected.host_waits.in_operators == pytest.approx(0.35)
    assert corrected.host_work is not None
    assert corrected.host_work.computing == pytest.approx(0.15)
    assert corrected.host_work.outside == pytest.approx(0.3)
    assert corrected.host_work.undrained == pytest.approx(0.225)


def test_the_hosts_own_work_is_no_more_than_its_idle_time() -> None:
    """All of the host's 0.8 is its own work: less the profiler's third 0.7 are left, of a window of 1.5."""
    work = HostWork(computing=0.0, outside=0.8, undrained=0.8)
    seen = replace(report(30.0, parts(0.8), host(0.8)), host_work=work)
    corrected = undistorted(with_distortion(seen, 20.0))
    assert corrected.host_work is not None
    assert corrected.host_work.outside == pytest.approx(0.7)
    assert corrected.host_work.undrained == pytest.approx(0.7)


def test_a_loader_is_not_relieved_of_its_share() -> None:
    known = with_distortion(report(30.0, parts(0.8), host(0.8, loader=0.5)), 25.0)
    corrected = undistorted(known)
    assert corrected.idle is not None
    assert corrected.idle.loader == pytest.approx(0.5 * 30 / 25)
    assert "data loader for 60 %" in rank_sentence(known)


@pytest.mark.parametrize("before_ms", [None, 0.0, 30.0, 29.0])
def test_nothing_is_corrected_where_there_is_nothing_to_correct(before_ms: float | None) -> None:
    known = with_distortion(report(30.0, parts(0.3), host(0.3)), before_ms)
    assert undistorted(known) is known


@given(
    st.lists(st.floats(0, 1), min_size=9, max_size=9).filter(lambda shares: sum(shares) > 0.1),
    st.floats(1, 40),
)
def test_parts_sum_to_one_and_classes_to_the_idle_part(weights: list[float], before_ms: float) -> None:
    shares = [weight / sum(weights) for weight in weights]
    gpu = GpuShares(
        compute_only=shares[0],
        overlap=shares[1],
        comm_exposed=shares[2],
        mem_exposed=shares[3],
        idle=sum(shares[4:]),
    )
    idle = IdleShares(
        loader=shares[4],
        sync_call=shares[5],
        host_other=shares[6],
        launch_latency=shares[7],
        dependency=shares[8],
    )
    found = undistorted(with_distortion(report(30.0, gpu, idle), before_ms))
    assert found.gpu is not None
    assert found.idle is not None
    parts_of = [getattr(found.gpu, name) for name in GpuShares.__struct_fields__]
    classes = [getattr(found.idle, name) for name in IdleShares.__struct_fields__]
    assert all(share >= 0 for share in [*parts_of, *classes])
    assert sum(parts_of) == pytest.approx(1.0)
    assert sum(classes) == pytest.approx(found.gpu.idle, abs=1e-9)
