"""Stragglers, healthy runs and busy hosts: each rule at its thresholds."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.view import Shares
from perftui.trainer.diagnosis import (
    POLICY,
    HostSignals,
    RankSignals,
    judge,
)

from .made import LOADER, QUIET, loader, only, remedy_of, run, waiting_rank

# --- rank.straggler_input ---


def _gloo_pair(starved_wait: float) -> tuple[RankSignals, RankSignals]:
    """Rank 1 waits for data; rank 0 waits for rank 1 inside its backward."""
    return waiting_rank(0.01, number=0, backward=0.05 + starved_wait), waiting_rank(
        starved_wait, number=1, backward=0.06
    )


def test_the_starved_rank_leads_and_the_fast_one_is_not_blamed() -> None:
    finding = only(run(*_gloo_pair(0.8)))
    assert (finding.code, finding.rank, finding.severity) == ("rank.straggler_input", 1, "critical")
    assert abs(finding.share - 0.79) < 1e-9
    assert remedy_of(finding).set
    assert finding.unsure is None
    assert "wait for rank 1" in finding.sentence
    assert finding.evidence[-1].name == "forward and backward of rank 0 beyond those of rank 1"


@pytest.mark.parametrize(
    ("gap", "code", "severity"),
    [
        (0.09, "compute.bound", "info"),
        (0.105, "rank.straggler_input", "warning"),
        (0.195, "rank.straggler_input", "warning"),
        (0.205, "rank.straggler_input", "critical"),
    ],
)
def test_straggler_thresholds(gap: float, code: str, severity: str) -> None:
    ranks = (waiting_rank(0.0, number=0, backward=0.5), waiting_rank(gap, number=1, backward=0.5 - gap))
    finding = only(run(*ranks))
    assert (finding.code, finding.severity) == (code, severity)


def test_communication_that_was_measured_is_the_evidence() -> None:
    fed, starved = _gloo_pair(0.8)
    shares = msgspec.structs.replace(fed.shares, comm_exposed=0.75)
    finding = only(run(replace(fed, shares=shares), starved))
    assert finding.evidence[-1].name == "rank 0 waits in communication"
    assert finding.evidence[-1].value == 75.0


def test_where_the_others_wait_was_not_seen_is_said() -> None:
    ranks = [replace(rank, shares=Shares(loader_wait=rank.shares.loader_wait)) for rank in _gloo_pair(0.8)]
    finding = only(run(*ranks))
    assert finding.code == "rank.straggler_input"
    assert "profile window" in (finding.unsure or "")


def test_when_the_fed_ranks_starve_too_both_are_said_and_the_worst_leads() -> None:
    first, second = judge(run(waiting_rank(0.2, number=0), waiting_rank(0.7, number=1))).findings
    assert (first.code, first.rank) == ("rank.straggler_input", 1)
    assert (second.code, second.share) == ("input.workers", 0.2)
    assert first.share + second.share <= 1.0


def test_ranks_that_starve_by_chance_differences_are_no_stragglers() -> None:
    finding = only(
        run(*(waiting_rank(wait, number=rank) for rank, wait in enumerate((0.4, 0.45, 0.5, 0.55))))
    )
    assert finding.code == "input.workers"


def test_of_two_that_starve_alike_the_first_is_named_every_time() -> None:
    for third, fifth in ((0.60, 0.62), (0.62, 0.60)):
        waits = (0.01, 0.01, 0.02, third, 0.01, fifth)
        finding = only(run(*(waiting_rank(wait, number=rank) for rank, wait in enumerate(waits))))
        assert finding.rank == 3
        assert "ranks 5 starve too" in finding.sentence


def test_the_setting_takes_workers_from_no_rank() -> None:
    fed, starved = _gloo_pair(0.5)
    finding = only(run(replace(fed, loader=loader(num_workers=6)), replace(starved, loader=LOADER)))
    workers = remedy_of(finding).set["loader.num_workers"]
    assert isinstance(workers, int)
    assert workers >= 6


def test_a_short_wait_makes_no_straggler() -> None:
    ranks = (waiting_rank(0.0, number=0, step_ms=2.0), waiting_rank(0.3, number=1, step_ms=2.0))
    assert "rank.straggler_input" not in {finding.code for finding in judge(run(*ranks)).findings}


# --- compute.bound ---


def test_a_healthy_run_on_a_cpu() -> None:
    finding = only(run(waiting_rank(0.02)))
    assert (finding.code, finding.severity, finding.rank) == ("compute.bound", "info", None)
    assert abs(finding.share - 0.98) < 1e-9
    assert finding.remedy is None
    assert finding.unsure is None
    assert "not of speed" in finding.sentence
    assert "processor" in finding.sentence


def test_a_fed_gpu_is_not_called_busy_unseen() -> None:
    finding = only(run(waiting_rank(0.02, device="cuda:0")))
    assert "profile window" in (finding.unsure or "")
    assert "processor" not in finding.sentence


def test_time_that_is_nobodys_keeps_a_run_from_being_called_healthy() -> None:
    rank = waiting_rank(0.02)
    shares = msgspec.structs.replace(rank.shares, other=POLICY.other_share)
    judgement = judge(run(replace(rank, shares=shares)))
    assert judgement.findings == ()
    assert "neither loading nor the model" in judgement.abstained[0].reason


def test_an_idle_training_thread_keeps_a_run_from_being_called_healthy() -> None:
    host = replace(QUIET, cpu_busy=0.2, run_busy=0.1)
    judgement = judge(run(replace(waiting_rank(0.02), cpu_share=0.1), host=host))
    assert judgement.findings == ()
    assert "idle" in judgement.abstained[0].reason


def test_a_run_is_healthy_only_when_all_its_ranks_were_seen() -> None:
    judgement = judge(run(waiting_rank(0.02), world_size=2))
    assert judgement.findings == ()
    assert judgement.abstained[0].code == "compute.bound"


# --- self.contended ---


def _busy(others: float, *, pressure: float | None = 0.5, cores: float = 8.0) -> HostSignals:
    return replace(QUIET, run_busy=1.0, cpu_busy=1.0 + others, pressure_share=pressure, cores=cores)


@pytest.mark.parametrize(
    ("others", "pressure", "severity"),
    [
        (1.1, 0.5, None),
        (1.2, 0.5, "info"),
        (2.3, 0.5, "info"),
        (2.4, 0.5, "warning"),
        (2.4, None, "warning"),
        (7.0, 0.05, "info"),
    ],
)
def test_contention_thresholds(others: float, pressure: float | None, severity: str | None) -> None:
    found = {
        finding.code: finding
        for finding in judge(run(waiting_rank(0.02), host=_busy(others, pressure=pressure))).findings
    }
    if severity is None:
        assert "self.contended" not in found
    else:
        assert found["self.contended"].severity == severity
        assert found["self.contended"].host == "here"
    assert ("compute.bound" in found) is (severity != "warning")


def test_others_on_cores_that_the_quota_leaves_free_take_nothing() -> None:
    host = replace(_busy(60.0, cores=128.0), cpus=4.0)
    assert [finding.code for finding in judge(run(waiting_rank(0.02), host=host)).findings] == [
        "compute.bound"
    ]


def test_what_was_not_measured_is_no_contention() -> None:
    for host in (
        replace(_busy(7.0), run_busy=None),
        replace(_busy(7.0), cpu_busy=None),
        HostSignals(name="here"),
    ):
        codes = {finding.code for finding in judge(run(waiting_rank(0.02), host=host)).findings}
        assert "self.contended" not in codes


def test_a_busy_host_does_not_hide_work_done_in_the_training_thread() -> None:
    first, second = judge(run(waiting_rank(0.9), host=_busy(6.0))).findings
    assert (first.code, first.severity) == ("input.workers", "critical")
    assert first.unsure is not None
    assert second.code == "self.contended"


def test_starved_workers_on_a_busy_host_are_in_doubt() -> None:
    first, second = judge(run(waiting_rank(0.5, loader=loader(num_workers=2)), host=_busy(6.0))).findings
    assert first.code == "self.contended"
    assert (second.code, second.severity) == ("input.workers", "warning")
    assert second.unsure is not None
