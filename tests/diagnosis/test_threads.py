"""`cpu.oversubscribed`: threads of torch and of workers against the cores, and who sets their number."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.trainer.diagnosis import judge

from .made import QUIET, backends, facts, found, lead, loader, rank, run, shares, workers

_TWO = replace(QUIET, cpus=2.0, cores=2.0, online=2, cpu_busy=1.9, run_busy=1.8)


@pytest.mark.parametrize(("threads", "seen"), [(2, False), (3, False), (4, True), (16, True)])
def test_threads_that_compute_over_cores(threads: int, seen: bool) -> None:
    codes = found(run(rank(facts=backends(num_threads=threads)), host=_TWO))
    assert ("cpu.oversubscribed" in codes) is seen
    assert ("compute.bound" in codes) is not seen
    if seen:
        remedy = codes["cpu.oversubscribed"].remedy
        assert remedy is not None
        assert remedy.set == {"env.OMP_NUM_THREADS": "2"}


@pytest.mark.parametrize(
    ("threads", "environment", "offered"),
    [
        (16, {}, False),  # torch by itself would take 2, or 1
        (16, {"OMP_NUM_THREADS": "16"}, True),
        (16, {"OMP_NUM_THREADS": "1"}, False),  # torchrun's, which the script overrides
        (16, None, True),
    ],
)
def test_no_variable_is_offered_where_the_script_sets_the_number_of_threads(
    threads: int, environment: dict[str, str] | None, offered: bool
) -> None:
    told = msgspec.structs.replace(backends(num_threads=threads), environment=environment)
    remedy = found(run(rank(facts=told), host=_TWO))["cpu.oversubscribed"].remedy
    assert remedy is not None
    assert bool(remedy.set) is offered
    assert "torch.set_num_threads(2)" in (remedy.advice or "")


def test_threads_of_a_host_whose_quota_torch_does_not_see() -> None:
    told = msgspec.structs.replace(backends(num_threads=32), environment={})
    host = replace(_TWO, cores=64.0, online=64)
    remedy = found(run(rank(facts=told), host=host))["cpu.oversubscribed"].remedy
    assert remedy is not None
    assert remedy.set == {"env.OMP_NUM_THREADS": "2"}


@pytest.mark.parametrize("own", [None, ["OPENBLAS_NUM_THREADS"]])
def test_a_pool_that_the_script_sizes_itself_is_mended_there(own: list[str] | None) -> None:
    told = facts(environment={"OPENBLAS_NUM_THREADS": "16"}, own_environment=own)
    seen = workers(2, threads=34, cpu_share=0.9, cpu_wait_share=0.6)
    made = rank(shares=shares(wait=0.5, forward=0.2), loader=loader(num_workers=2), workers=seen, facts=told)
    remedy = lead(run(made, host=_TWO)).remedy
    assert remedy is not None
    assert bool(remedy.set) is (own is None)
    assert ("the script itself sets OPENBLAS_NUM_THREADS" in (remedy.advice or "")) is (own is not None)


def test_threads_of_all_ranks_share_the_cores() -> None:
    ranks = [rank(number, facts=backends(num_threads=4)) for number in range(4)]
    finding = found(run(*ranks))["cpu.oversubscribed"]
    assert "16 in all" in finding.sentence
    assert finding.remedy is not None
    assert finding.remedy.set == {"env.OMP_NUM_THREADS": "2"}


def test_pools_in_workers_explain_the_wait_and_take_its_weight() -> None:
    seen = workers(2, threads=34, cpu_share=0.9, cpu_wait_share=0.6)
    made = rank(shares=shares(wait=0.5, forward=0.2), loader=loader(num_workers=2), workers=seen)
    first, second = judge(run(made, host=_TWO)).findings
    assert (first.code, first.severity, first.share) == ("cpu.oversubscribed", "critical", 0.5)
    assert (second.code, second.under, second.remedy) == ("input.item", "cpu.oversubscribed", None)
    assert first.remedy is not None
    assert first.remedy.set["env.OPENBLAS_NUM_THREADS"] == "1"


def test_pools_that_nobody_waits_for_are_no_finding() -> None:
    seen = workers(2, threads=34, cpu_share=0.9, cpu_wait_share=0.6)
    made = rank(loader=loader(num_workers=2), workers=seen)
    assert "cpu.oversubscribed" not in found(run(made, host=_TWO))
