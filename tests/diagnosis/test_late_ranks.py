"""Who comes last to the exchange of gradients, and for want of what: rules at their thresholds."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import StackPlace
from perftui.ipc.findings import Finding
from perftui.ipc.view import DeviceView
from perftui.trainer.diagnosis import POLICY, judge
from perftui.trainer.diagnosis.signals import Arrivals, HostSignals, RankSignals

from .made import BUSY, QUIET, ddp, found, gpu, gpu_rank, lead, rank, run, stacks
from .ranks_made import LOOKED, arrivals_made, looked_at, member


@pytest.mark.parametrize(
    ("gap", "severity"), [(0.24, None), (0.26, "warning"), (0.39, "warning"), (0.41, "critical")]
)
def test_the_rank_that_waits_least_for_the_exchange_came_last(gap: float, severity: str | None) -> None:
    """Lab: 100 ms more in rank 1's backward leave both backwards equally long; only the waits differ."""
    first, second = member(0, 0.02 + gap), member(1, 0.02)
    finding = found(run(first, second, arrivals=looked_at())).get("rank.straggler_compute")
    assert (finding and finding.severity) == severity
    if finding is not None:
        assert finding.rank == 1
        assert finding.unsure is None
        assert "Rank 1 comes last" in finding.sentence


@pytest.mark.parametrize(
    ("arrivals", "seen"),
    [
        (looked_at(), True),
        (looked_at(last=0.70), True),
        (looked_at(last=0.69), False),
        (looked_at(error_ms=5.2), True),
        (looked_at(error_ms=5.5), False),
        (looked_at(error_ms=None), False),
        (None, False),
    ],
)
def test_a_straggler_is_late_step_by_step_and_beyond_the_scatter(
    arrivals: Arrivals | None, seen: bool
) -> None:
    """A gap of 30 ms is four times an error of 7.5, of two ranks with 5.3 each."""
    signals = run(member(0, 0.32), member(1, 0.02), arrivals=arrivals)
    assert ("rank.straggler_compute" in found(signals)) is seen
    if arrivals is not None:
        large = run(member(0, 0.43), member(1, 0.02), arrivals=arrivals)
        assert "rank.straggler_compute" in found(large), "so much is no chance"


@pytest.mark.parametrize(("uneven", "seen"), [(0.05, True), (0.04, False), (None, False)])
def test_a_smaller_gap_counts_where_batches_differ(uneven: float | None, seen: bool) -> None:
    signals = run(member(0, 0.14), member(1, 0.02), arrivals=looked_at(uneven=uneven))
    assert ("rank.straggler_compute" in found(signals)) is seen


@pytest.mark.parametrize(
    ("gap_ms", "severity"), [(9.0, None), (11.0, "warning"), (19.0, "warning"), (21.0, "critical")]
)
def test_stragglers_among_gpus(gap_ms: float, severity: str | None) -> None:
    def on_gpu(number: int, wait_ms: float) -> RankSignals:
        times = DeviceView(
            sampled_steps=POLICY.straggler_looks,
            step_ms=100.0,
            wait_ms=0.0,
            forward_ms=30.0,
            backward_ms=60.0 - wait_ms,
            comm_exposed_ms=wait_ms,
            optimizer_ms=5.0,
            other_ms=5.0,
        )
        return replace(gpu_rank(number), device_ms=times, facts=ddp(backend="nccl"), world_size=2)

    signals = run(on_gpu(0, 2.0 + gap_ms), on_gpu(1, 2.0), gpus=(gpu(ranks=[0, 1]),))
    late = [each for each in judge(signals).findings if each.code.startswith("rank.straggler")]
    assert [each.severity for each in late] == ([] if severity is None else [severity])


def test_few_looks_show_large_gaps_only() -> None:
    few = replace(LOOKED, comm_steps=POLICY.straggler_looks - 1)
    small = run(member(0, 0.3, patterns=few), member(1, 0.02, patterns=few))
    assert "rank.straggler_compute" not in found(small)
    large = run(member(0, 0.5, patterns=few), member(1, 0.02, patterns=few))
    assert "rank.straggler_compute" in found(large)


def test_what_a_late_rank_does_besides_is_the_hosts() -> None:
    place = StackPlace(area="script", at="train.py:9 main", line="evaluate(model)", count=34)
    late = member(1, 0.02, other=0.35)
    looked = msgspec.structs.replace(late.facts, stacks=stacks(100, place, script=34, model=66))
    signals = run(member(0, 0.44), replace(late, facts=looked))
    finding = lead(signals)
    assert (finding.code, finding.rank, finding.severity) == ("rank.straggler_host", 1, "critical")
    assert finding.remedy is not None
    assert finding.remedy.at == "train.py:9 main"
    assert "cpu.python" not in found(signals), "it is said once"


def test_the_longest_backward_is_no_ground_for_blame() -> None:
    """Nothing was timed, and nobody has more to do before the backward."""
    ranks = (member(0, None, patterns=replace(LOOKED, comm_steps=0)), member(1, None, forward=0.19))
    codes = found(run(*ranks, arrivals=arrivals_made((0.5, 0.5), (0.6, 0.5))))
    assert not any(code.startswith("rank.") for code in codes)


def test_without_timing_the_work_before_the_backward_tells() -> None:
    unseen = replace(LOOKED, comm_steps=0)
    late = member(1, None, patterns=unseen, forward=0.5)
    signals = run(member(0, None, patterns=unseen), late, arrivals=arrivals_made((0.5, 0.1), (30.0, 0.9)))
    finding = lead(signals)
    assert (finding.code, finding.rank) == ("rank.straggler_compute", 1)
    assert finding.unsure is not None
    rotating = replace(signals, arrivals=arrivals_made((0.5, 0.31), (30.0, 0.69)))
    assert "rank.straggler_compute" not in found(rotating)


def test_ranks_that_do_not_keep_step_hold_nobody_up() -> None:
    quick = replace(member(0, 0.4), step_ms=rank(step_ms=50.0).step_ms)
    assert "rank.straggler_compute" not in found(run(quick, member(1, 0.02)))


@pytest.mark.parametrize(
    ("lost_ms", "most", "severity"),
    [(9.0, 0.5, None), (10.0, 0.5, "warning"), (40.0, 0.6, "critical"), (40.0, 0.61, None)],
)
def test_ranks_that_take_turns_in_coming_last(lost_ms: float, most: float, severity: str | None) -> None:
    arrivals = arrivals_made((10.0, most), (10.0, 1 - most), lost_ms=lost_ms, lost_cpu_ms=lost_ms, uneven=0.3)
    finding = found(run(member(0, 0.05), member(1, 0.05), arrivals=arrivals)).get("rank.imbalance")
    assert (finding and finding.severity) == severity


def test_uneven_ranks_are_told_from_chance_by_their_cpu_time() -> None:
    def codes(
        lost_ms: float, cpu_ms: float | None, host: HostSignals = QUIET, memory: float | None = 0.1
    ) -> set[str]:
        arrivals = arrivals_made(
            (10.0, 0.5), (10.0, 0.5), lost_ms=lost_ms, lost_cpu_ms=cpu_ms, cpu_memory=memory
        )
        return set(found(run(member(0, 0.05), member(1, 0.05), arrivals=arrivals, host=host)))

    assert "rank.imbalance" in codes(19.0, 6.0)
    assert "rank.imbalance" not in codes(19.0, 5.0)
    assert "rank.imbalance" in codes(20.0, None)
    assert "rank.imbalance" in codes(20.0, 8.0, BUSY)
    assert "rank.imbalance" not in codes(20.0, 1.0, BUSY)
    assert "rank.imbalance" in codes(4.0, 12.0), "the backward's own work is in the CPU time alone"
    assert "rank.imbalance" in codes(4.0, 12.0, memory=0.29)
    for memory in (0.31, -0.31, None):
        assert "rank.imbalance" not in codes(4.0, 12.0, memory=memory), "a slow core lasts, a batch does not"


def test_uneven_batches_are_proof_whatever_the_cores_do() -> None:
    def finding(uneven: float | None) -> Finding | None:
        arrivals = arrivals_made(
            (10.0, 0.5), (10.0, 0.5), lost_ms=4.0, lost_cpu_ms=12.0, cpu_memory=0.6, uneven=uneven
        )
        return found(run(member(0, 0.05), member(1, 0.05), arrivals=arrivals)).get("rank.imbalance")

    proven = finding(0.05)
    assert proven is not None
    assert proven.unsure is None
    assert finding(0.04) is None
    assert finding(None) is None


def test_on_a_busy_host_stragglers_come_after_it() -> None:
    findings = judge(run(member(0, 0.3), member(1, 0.02), host=BUSY, arrivals=looked_at())).findings
    assert [f.code for f in findings][:2] == ["self.contended", "rank.straggler_compute"]
    assert findings[1].severity == "warning"
    sure = judge(run(member(0, 0.5), member(1, 0.02), host=BUSY)).findings
    assert (sure[0].code, sure[0].severity) == ("rank.straggler_compute", "critical")
