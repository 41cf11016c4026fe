"""Each rule at its thresholds, its remedies, and what it says when it cannot tell."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.settings import parse_assignment
from perftui.ipc.view import Shares, StepStats
from perftui.trainer.diagnosis import (
    POLICY,
    HostSignals,
    RankSignals,
    RunSignals,
    diagnose,
    judge,
)

_FACTS = LoaderFacts(
    index=0,
    num_workers=0,
    batch_size=32,
    prefetch_factor=None,
    persistent_workers=False,
    pin_memory=False,
    multiprocessing_context=None,
    in_order=True,
    batches_per_epoch=1000,
    iterable=False,
    dataset="Photos",
)
_QUIET = HostSignals(name="here", cpus=8, cpu_busy=1.2, run_busy=1.1, pressure_share=0.0, cores=8)


def _facts(**changes: object) -> LoaderFacts:
    return msgspec.structs.replace(_FACTS, **changes)


def _rank(
    wait: float | None,
    *,
    rank: int = 0,
    step_ms: float = 100.0,
    backward: float | None = None,
    loader: LoaderFacts | None = _FACTS,
    device: str = "cpu",
    steps: int = 100,
) -> RankSignals:
    rest = 1.0 - (wait or 0.0)
    own = rest * 0.6 if backward is None else backward
    return RankSignals(
        rank=rank,
        host="here",
        device=device,
        window_steps=steps,
        coverage=1.0,
        step_ms=StepStats(mean=step_ms, p50=step_ms, p90=step_ms, p99=step_ms),
        shares=Shares(loader_wait=wait, forward=(rest - own) / 2, backward=own, optimizer=(rest - own) / 2),
        cpu_share=0.97,
        loader=loader,
    )


def _run(*ranks: RankSignals, host: HostSignals = _QUIET, world_size: int = 0) -> RunSignals:
    return RunSignals(ranks=ranks, hosts=(host,), world_size=world_size or len(ranks))


def _only(signals: RunSignals) -> Finding:
    (finding,) = diagnose(signals)
    return finding


def _remedy(finding: Finding) -> Remedy:
    assert finding.remedy is not None
    return finding.remedy


# --- input.workers ---


@pytest.mark.parametrize(
    ("wait", "code", "severity"),
    [
        (0.09, "compute.bound", "info"),
        (POLICY.wait_warning + 0.0129, "compute.bound", "info"),  # what of 100 ms a handover takes
        (POLICY.wait_warning + 0.0135, "input.workers", "warning"),
        (0.21, "input.workers", "warning"),
        (POLICY.wait_critical + 0.0135, "input.workers", "critical"),
        (1.0, "input.workers", "critical"),
    ],
)
def test_wait_thresholds(wait: float, code: str, severity: str) -> None:
    finding = _only(_run(_rank(wait)))
    assert (finding.code, finding.severity) == (code, severity)


def test_a_starved_training_gets_workers_with_bound_and_expectation() -> None:
    finding = _only(_run(_rank(0.9)))
    remedy = _remedy(finding)
    assert finding.share == 0.9
    assert finding.rank is None
    assert set(remedy.set) == {"loader.num_workers"}
    workers = remedy.set["loader.num_workers"]
    assert isinstance(workers, int)
    assert 1 < workers <= 8
    assert remedy.bound == 10.0
    assert remedy.expected is not None
    assert 1.02 < remedy.expected <= 10.0
    assert remedy.semantics == "neutral"
    assert "augmentations" in (remedy.caution or "")
    assert finding.evidence[0].name == "loader wait"
    assert (finding.evidence[0].value, finding.evidence[0].window_steps) == (0.9, 100)
    assert "no workers" in finding.sentence


def test_the_setting_names_the_loader_by_its_construction() -> None:
    remedy = _remedy(_only(_run(_rank(0.9, loader=_facts(index=2)))))
    (name,) = remedy.set
    assert name == "loader[2].num_workers"
    assert parse_assignment(f"{name}={remedy.set[name]}")[0] == name


def test_workers_that_fill_the_cores_get_advice_and_no_setting() -> None:
    host = replace(_QUIET, cpus=2.0, cores=2.0, cpu_busy=2.0, run_busy=2.0)
    finding = _only(_run(_rank(0.5, loader=_facts(num_workers=2)), host=host))
    remedy = _remedy(finding)
    assert remedy.set == {}
    assert "2 workers are all that 2 usable cores can run" in (remedy.advice or "")
    assert finding.unsure is not None


def test_starved_workers_on_idle_cores_wait_themselves() -> None:
    host = replace(_QUIET, cpus=2.0, cores=2.0, cpu_busy=0.3, run_busy=0.3)
    finding = _only(_run(_rank(0.5, loader=_facts(num_workers=2)), host=host))
    assert finding.code == "input.workers"
    assert "only 0.3 of 2 cores" in finding.sentence
    workers = _remedy(finding).set["loader.num_workers"]
    assert isinstance(workers, int)
    assert workers > 2
    assert "storage" in (_remedy(finding).advice or "")


def test_one_core_for_everything_gets_no_workers() -> None:
    host = replace(_QUIET, cpus=1.0, cores=1.0, cpu_busy=1.0, run_busy=1.0)
    remedy = _remedy(_only(_run(_rank(0.5), host=host)))
    assert remedy.set == {}
    assert "full already" in (remedy.advice or "")


@pytest.mark.parametrize(("sharded", "unsure"), [(False, False), (None, True)])
def test_an_unsharded_iterable_gets_advice_and_no_setting(sharded: bool | None, unsure: bool) -> None:
    finding = _only(_run(_rank(0.9, loader=_facts(iterable=True, sharded=sharded))))
    assert _remedy(finding).set == {}
    assert "get_worker_info" in (_remedy(finding).advice or "")
    assert (finding.unsure is not None) is unsure


def test_a_sharded_iterable_gets_workers() -> None:
    finding = _only(_run(_rank(0.9, loader=_facts(iterable=True, sharded=True))))
    assert _remedy(finding).set


def test_a_short_wait_is_not_worth_workers() -> None:
    finding = _only(_run(_rank(0.4, step_ms=2.0)))
    assert finding.severity == "info"
    assert _remedy(finding).set == {}
    assert "0.8 ms" in finding.sentence


def test_cautions_name_short_epochs_and_small_shared_memory() -> None:
    host = replace(_QUIET, shm_free_mib=64.0)
    remedy = _remedy(_only(_run(_rank(0.9, loader=_facts(batches_per_epoch=10)), host=host)))
    assert "epochs are short (10 batches)" in (remedy.caution or "")
    assert remedy.set["loader.persistent_workers"] is True
    assert remedy.expected is not None
    assert (
        remedy.expected <= 1 / (1 - 0.9 * 0.9) + 0.01
    )  # the first of ten batches is waited for all the same
    assert "64 MiB" in (remedy.caution or "")


def test_without_the_loaders_settings_the_cause_is_named_and_the_remedy_is_not() -> None:
    finding = _only(_run(_rank(0.9, loader=None)))
    assert finding.code == "input.workers"
    assert finding.remedy is None
    assert finding.unsure is not None


def test_without_a_core_count_the_remedy_is_not_named() -> None:
    finding = _only(_run(_rank(0.9), host=HostSignals(name="here")))
    assert finding.remedy is None
    assert "cores" in (finding.unsure or "")


def test_waits_of_starting_workers_are_not_blamed_on_their_number() -> None:
    rank = replace(_rank(0.5, loader=_facts(num_workers=4)), epoch_start_wait=0.45)
    judgement = judge(_run(rank))
    (finding,) = judgement.findings
    assert (finding.code, finding.severity, finding.share) == ("input.epoch_start", "critical", 0.45)
    assert _remedy(finding).set == {"loader.persistent_workers": True}
    assert "start of epochs" in judgement.abstained[0].reason


def test_without_workers_the_first_batch_of_an_epoch_counts_as_any_other() -> None:
    assert _only(_run(replace(_rank(0.5), epoch_start_wait=0.45))).code == "input.workers"


def test_ranks_that_starve_alike_are_one_finding_about_the_run() -> None:
    finding = _only(_run(*(_rank(0.5 + rank / 100, rank=rank) for rank in range(4))))
    assert (finding.code, finding.rank) == ("input.workers", None)
    assert abs(finding.share - 0.515) < 1e-9
    assert "Each rank" in finding.sentence


def test_ranks_that_do_not_keep_step_are_judged_one_by_one() -> None:
    finding = _only(_run(_rank(0.5, rank=0, step_ms=200.0), _rank(0.02, rank=1, step_ms=90.0)))
    assert (finding.code, finding.rank, finding.host) == ("input.workers", 0, "here")


def test_a_rank_that_was_not_measured_keeps_the_finding_from_speaking_for_all() -> None:
    judgement = judge(_run(_rank(0.5, rank=0), _rank(None, rank=1)))
    (finding,) = judgement.findings
    assert (finding.code, finding.rank) == ("input.workers", 0)
    assert judgement.abstained[0].rank == 1


# --- abstention ---


@pytest.mark.parametrize(
    ("rank", "reason"),
    [
        (_rank(None), "was not measured"),
        (_rank(0.9, steps=POLICY.steps_warning - 1), "4 steady steps"),
        (_rank(0.9, steps=15, loader=_facts(num_workers=8)), "15 steady steps"),
        (replace(_rank(0.9), coverage=POLICY.coverage - 0.01), "79 % of its steps"),
    ],
)
def test_what_was_not_measured_is_not_judged(rank: RankSignals, reason: str) -> None:
    judgement = judge(_run(rank))
    assert judgement.findings == ()
    assert reason in judgement.abstained[0].reason
    assert judgement.abstained[0].settled_by


def test_a_window_just_long_enough_is_judged_but_not_as_critical() -> None:
    assert _only(_run(_rank(0.9, steps=POLICY.steps_warning))).severity == "warning"
    assert _only(_run(_rank(0.9, steps=POLICY.steps_critical))).severity == "critical"
    assert _only(_run(_rank(0.9, steps=16, loader=_facts(num_workers=8)))).severity == "warning"


def test_few_steps_of_many_seconds_are_judged() -> None:
    assert _only(_run(_rank(0.9, steps=2, step_ms=10_000.0))).severity == "warning"
    assert judge(_run(_rank(0.9, steps=2, step_ms=9_900.0))).findings == ()
    assert judge(_run(_rank(0.9, steps=2, step_ms=10_000.0, loader=_facts(num_workers=4)))).findings == ()


def test_no_ranks_no_findings() -> None:
    assert diagnose(RunSignals(ranks=(), hosts=())) == []


# --- rank.straggler_input ---


def _gloo_pair(starved_wait: float) -> tuple[RankSignals, RankSignals]:
    """Rank 1 waits for data; rank 0 waits for rank 1 inside its backward."""
    return _rank(0.01, rank=0, backward=0.05 + starved_wait), _rank(starved_wait, rank=1, backward=0.06)


def test_the_starved_rank_leads_and_the_fast_one_is_not_blamed() -> None:
    finding = _only(_run(*_gloo_pair(0.8)))
    assert (finding.code, finding.rank, finding.severity) == ("rank.straggler_input", 1, "critical")
    assert abs(finding.share - 0.79) < 1e-9
    assert _remedy(finding).set
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
    ranks = (_rank(0.0, rank=0, backward=0.5), _rank(gap, rank=1, backward=0.5 - gap))
    finding = _only(_run(*ranks))
    assert (finding.code, finding.severity) == (code, severity)


def test_communication_that_was_measured_is_the_evidence() -> None:
    fed, starved = _gloo_pair(0.8)
    shares = msgspec.structs.replace(fed.shares, comm_exposed=0.75)
    finding = _only(_run(replace(fed, shares=shares), starved))
    assert finding.evidence[-1].name == "rank 0 waits in communication"
    assert finding.evidence[-1].value == 75.0


def test_where_the_others_wait_was_not_seen_is_said() -> None:
    ranks = [replace(rank, shares=Shares(loader_wait=rank.shares.loader_wait)) for rank in _gloo_pair(0.8)]
    finding = _only(_run(*ranks))
    assert finding.code == "rank.straggler_input"
    assert "profile window" in (finding.unsure or "")


def test_when_the_fed_ranks_starve_too_both_are_said_and_the_worst_leads() -> None:
    first, second = diagnose(_run(_rank(0.2, rank=0), _rank(0.7, rank=1)))
    assert (first.code, first.rank) == ("rank.straggler_input", 1)
    assert (second.code, second.share) == ("input.workers", 0.2)
    assert first.share + second.share <= 1.0


def test_ranks_that_starve_by_chance_differences_are_no_stragglers() -> None:
    finding = _only(_run(*(_rank(wait, rank=rank) for rank, wait in enumerate((0.4, 0.45, 0.5, 0.55)))))
    assert finding.code == "input.workers"


def test_of_two_that_starve_alike_the_first_is_named_every_time() -> None:
    for third, fifth in ((0.60, 0.62), (0.62, 0.60)):
        waits = (0.01, 0.01, 0.02, third, 0.01, fifth)
        finding = _only(_run(*(_rank(wait, rank=rank) for rank, wait in enumerate(waits))))
        assert finding.rank == 3
        assert "ranks 5 starve too" in finding.sentence


def test_the_setting_takes_workers_from_no_rank() -> None:
    fed, starved = _gloo_pair(0.5)
    finding = _only(_run(replace(fed, loader=_facts(num_workers=6)), replace(starved, loader=_FACTS)))
    workers = _remedy(finding).set["loader.num_workers"]
    assert isinstance(workers, int)
    assert workers >= 6


def test_a_short_wait_makes_no_straggler() -> None:
    ranks = (_rank(0.0, rank=0, step_ms=2.0), _rank(0.3, rank=1, step_ms=2.0))
    assert "rank.straggler_input" not in {finding.code for finding in diagnose(_run(*ranks))}


# --- compute.bound ---


def test_a_healthy_run_on_a_cpu() -> None:
    finding = _only(_run(_rank(0.02)))
    assert (finding.code, finding.severity, finding.rank) == ("compute.bound", "info", None)
    assert abs(finding.share - 0.98) < 1e-9
    assert finding.remedy is None
    assert finding.unsure is None
    assert "not of speed" in finding.sentence
    assert "processor" in finding.sentence


def test_a_fed_gpu_is_not_called_busy_unseen() -> None:
    finding = _only(_run(_rank(0.02, device="cuda:0")))
    assert "profile window" in (finding.unsure or "")
    assert "processor" not in finding.sentence


def test_time_that_is_nobodys_keeps_a_run_from_being_called_healthy() -> None:
    rank = _rank(0.02)
    shares = msgspec.structs.replace(rank.shares, other=POLICY.other_share)
    judgement = judge(_run(replace(rank, shares=shares)))
    assert judgement.findings == ()
    assert "neither loading nor the model" in judgement.abstained[0].reason


def test_an_idle_training_thread_keeps_a_run_from_being_called_healthy() -> None:
    host = replace(_QUIET, cpu_busy=0.2, run_busy=0.1)
    judgement = judge(_run(replace(_rank(0.02), cpu_share=0.1), host=host))
    assert judgement.findings == ()
    assert "idle" in judgement.abstained[0].reason


def test_a_run_is_healthy_only_when_all_its_ranks_were_seen() -> None:
    judgement = judge(_run(_rank(0.02), world_size=2))
    assert judgement.findings == ()
    assert judgement.abstained[0].code == "compute.bound"


# --- self.contended ---


def _busy(others: float, *, pressure: float | None = 0.5, cores: float = 8.0) -> HostSignals:
    return replace(_QUIET, run_busy=1.0, cpu_busy=1.0 + others, pressure_share=pressure, cores=cores)


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
        for finding in diagnose(_run(_rank(0.02), host=_busy(others, pressure=pressure)))
    }
    if severity is None:
        assert "self.contended" not in found
    else:
        assert found["self.contended"].severity == severity
        assert found["self.contended"].host == "here"
    assert ("compute.bound" in found) is (severity != "warning")


def test_others_on_cores_that_the_quota_leaves_free_take_nothing() -> None:
    host = replace(_busy(60.0, cores=128.0), cpus=4.0)
    assert [finding.code for finding in diagnose(_run(_rank(0.02), host=host))] == ["compute.bound"]


def test_what_was_not_measured_is_no_contention() -> None:
    for host in (
        replace(_busy(7.0), run_busy=None),
        replace(_busy(7.0), cpu_busy=None),
        HostSignals(name="here"),
    ):
        codes = {finding.code for finding in diagnose(_run(_rank(0.02), host=host))}
        assert "self.contended" not in codes


def test_a_busy_host_does_not_hide_work_done_in_the_training_thread() -> None:
    first, second = diagnose(_run(_rank(0.9), host=_busy(6.0)))
    assert (first.code, first.severity) == ("input.workers", "critical")
    assert first.unsure is not None
    assert second.code == "self.contended"


def test_starved_workers_on_a_busy_host_are_in_doubt() -> None:
    first, second = diagnose(_run(_rank(0.5, loader=_facts(num_workers=2)), host=_busy(6.0)))
    assert first.code == "self.contended"
    assert (second.code, second.severity) == ("input.workers", "warning")
    assert second.unsure is not None
