"""Each rule at its thresholds, its remedies, and what it says when it cannot tell."""

from dataclasses import replace

import pytest

from perftui.ipc.settings import parse_assignment
from perftui.trainer.diagnosis import (
    POLICY,
    HostSignals,
    RankSignals,
    RunSignals,
    judge,
)

from .made import QUIET, loader, only, remedy_of, run, waiting_rank

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
    finding = only(run(waiting_rank(wait)))
    assert (finding.code, finding.severity) == (code, severity)


def test_a_starved_training_gets_workers_with_bound_and_expectation() -> None:
    finding = only(run(waiting_rank(0.9)))
    remedy = remedy_of(finding)
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
    remedy = remedy_of(only(run(waiting_rank(0.9, loader=loader(index=2)))))
    (name,) = remedy.set
    assert name == "loader[2].num_workers"
    assert parse_assignment(f"{name}={remedy.set[name]}")[0] == name


def test_workers_that_fill_the_cores_get_advice_and_no_setting() -> None:
    host = replace(QUIET, cpus=2.0, cores=2.0, online=2, cpu_busy=2.0, run_busy=2.0)
    finding = only(run(waiting_rank(0.5, loader=loader(num_workers=2)), host=host))
    remedy = remedy_of(finding)
    assert remedy.set == {}
    assert "2 workers are all that 2 usable cores can run" in (remedy.advice or "")
    assert finding.unsure is not None


def test_starved_workers_on_idle_cores_wait_themselves() -> None:
    host = replace(QUIET, cpus=2.0, cores=2.0, cpu_busy=0.3, run_busy=0.3)
    finding = only(run(waiting_rank(0.5, loader=loader(num_workers=2)), host=host))
    assert finding.code == "input.workers"
    assert "only 0.3 of 2 cores" in finding.sentence
    workers = remedy_of(finding).set["loader.num_workers"]
    assert isinstance(workers, int)
    assert workers > 2
    assert "storage" in (remedy_of(finding).advice or "")


def test_one_core_for_everything_gets_no_workers() -> None:
    host = replace(QUIET, cpus=1.0, cores=1.0, online=1, cpu_busy=1.0, run_busy=1.0)
    remedy = remedy_of(only(run(waiting_rank(0.5), host=host)))
    assert remedy.set == {}
    assert "full already" in (remedy.advice or "")


@pytest.mark.parametrize(("sharded", "unsure"), [(False, False), (None, True)])
def test_an_unsharded_iterable_gets_advice_and_no_setting(sharded: bool | None, unsure: bool) -> None:
    finding = only(run(waiting_rank(0.9, loader=loader(iterable=True, sharded=sharded))))
    assert remedy_of(finding).set == {}
    assert "get_worker_info" in (remedy_of(finding).advice or "")
    assert (finding.unsure is not None) is unsure


def test_a_sharded_iterable_gets_workers() -> None:
    remedy = remedy_of(only(run(waiting_rank(0.9, loader=loader(iterable=True, sharded=True)))))
    assert remedy.set
    assert remedy.semantics == "changes-training", "each worker has its own part, remainder and buffer"
    assert remedy_of(only(run(waiting_rank(0.9, loader=loader())))).semantics == "neutral"


def test_a_short_wait_is_not_worth_workers() -> None:
    finding = only(run(waiting_rank(0.4, step_ms=2.0)))
    assert finding.severity == "info"
    assert remedy_of(finding).set == {}
    assert "0.8 ms" in finding.sentence


def test_cautions_name_short_epochs_and_small_shared_memory() -> None:
    host = replace(QUIET, shm_free_mib=64.0)
    remedy = remedy_of(only(run(waiting_rank(0.9, loader=loader(batches_per_epoch=10)), host=host)))
    assert "epochs are short (10 batches)" in (remedy.caution or "")
    assert remedy.set["loader.persistent_workers"] is True
    assert remedy.expected is not None
    assert (
        remedy.expected <= 1 / (1 - 0.9 * 0.9) + 0.01
    )  # the first of ten batches is waited for all the same
    assert "64 MiB" in (remedy.caution or "")


def test_without_the_loaders_settings_the_cause_is_named_and_the_remedy_is_not() -> None:
    finding = only(run(waiting_rank(0.9, loader=None)))
    assert finding.code == "input.workers"
    assert finding.remedy is None
    assert finding.unsure is not None


def test_without_a_core_count_the_remedy_is_not_named() -> None:
    finding = only(run(waiting_rank(0.9), host=HostSignals(name="here")))
    assert finding.remedy is None
    assert "cores" in (finding.unsure or "")


def test_waits_of_starting_workers_are_not_blamed_on_their_number() -> None:
    rank = replace(waiting_rank(0.5, loader=loader(num_workers=4)), epoch_start_wait=0.45)
    judgement = judge(run(rank))
    (finding,) = judgement.findings
    assert (finding.code, finding.severity, finding.share) == ("input.epoch_start", "critical", 0.45)
    assert remedy_of(finding).set == {"loader.persistent_workers": True}
    assert "start of epochs" in judgement.abstained[0].reason


def test_without_workers_the_first_batch_of_an_epoch_counts_as_any_other() -> None:
    assert only(run(replace(waiting_rank(0.5), epoch_start_wait=0.45))).code == "input.workers"


def test_ranks_that_starve_alike_are_one_finding_about_the_run() -> None:
    finding = only(run(*(waiting_rank(0.5 + rank / 100, number=rank) for rank in range(4))))
    assert (finding.code, finding.rank) == ("input.workers", None)
    assert abs(finding.share - 0.515) < 1e-9
    assert "Each rank" in finding.sentence


def test_ranks_that_do_not_keep_step_are_judged_one_by_one() -> None:
    finding = only(
        run(waiting_rank(0.5, number=0, step_ms=200.0), waiting_rank(0.02, number=1, step_ms=90.0))
    )
    assert (finding.code, finding.rank, finding.host) == ("input.workers", 0, "here")


def test_a_rank_that_was_not_measured_keeps_the_finding_from_speaking_for_all() -> None:
    judgement = judge(run(waiting_rank(0.5, number=0), waiting_rank(None, number=1)))
    (finding,) = judgement.findings
    assert (finding.code, finding.rank) == ("input.workers", 0)
    assert judgement.abstained[0].rank == 1


# --- abstention ---


@pytest.mark.parametrize(
    ("rank", "reason"),
    [
        (waiting_rank(None), "was not measured"),
        (waiting_rank(0.9, steps=POLICY.steps_warning - 1), "4 steady steps"),
        (waiting_rank(0.9, steps=15, loader=loader(num_workers=8)), "15 steady steps"),
        (replace(waiting_rank(0.9), coverage=POLICY.coverage - 0.01), "79 % of its steps"),
    ],
)
def test_what_was_not_measured_is_not_judged(rank: RankSignals, reason: str) -> None:
    judgement = judge(run(rank))
    assert judgement.findings == ()
    assert reason in judgement.abstained[0].reason
    assert judgement.abstained[0].settled_by


def test_a_window_just_long_enough_is_judged_but_not_as_critical() -> None:
    assert only(run(waiting_rank(0.9, steps=POLICY.steps_warning))).severity == "warning"
    assert only(run(waiting_rank(0.9, steps=POLICY.steps_critical))).severity == "critical"
    assert only(run(waiting_rank(0.9, steps=16, loader=loader(num_workers=8)))).severity == "warning"


def test_few_steps_of_many_seconds_are_judged() -> None:
    assert only(run(waiting_rank(0.9, steps=2, step_ms=10_000.0))).severity == "warning"
    assert judge(run(waiting_rank(0.9, steps=2, step_ms=9_900.0))).findings == ()
    assert (
        judge(run(waiting_rank(0.9, steps=2, step_ms=10_000.0, loader=loader(num_workers=4)))).findings == ()
    )


def test_no_ranks_no_findings() -> None:
    assert judge(RunSignals(ranks=(), hosts=())).findings == ()
