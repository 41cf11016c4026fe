"""Scripts that exchange gradients by their own calls, or accumulate micro-batches that no loader tells."""

import msgspec.structs
import pytest

from perftui.ipc.facts import ModelFacts, ParallelFacts, RankFacts, StackPlace
from perftui.ipc.trace_report import GpuShares, OperatorFigures, RankReport, StepSpan
from perftui.trainer.diagnosis import RankSignals, RunSignals
from perftui.trainer.diagnosis.policy import POLICY
from perftui.trainer.diagnosis.signals import StepPatterns

from .made import ddp, facts, found, gpu, gpu_rank, lead, rank, report, run, shares, stacks

_ALONE = StepPatterns(run_steps=200, wait_known=False)
_BLIND = msgspec.structs.replace(shares(), loader_wait=None)
_PLACE = StackPlace(area="communication", at="net.py:9 average", line="all_reduce(weight.grad)", count=60)


def _model(tensors: int = 100, mib: float = 1.0, sharded: int = 0) -> ModelFacts:
    return ModelFacts(
        tensors=tensors,
        parameters=9000,
        mib=mib,
        dtypes={"float32": 9000},
        devices={"cpu": 9000},
        sharded=sharded,
    )


def _operator(name: str, count: float) -> OperatorFigures:
    return OperatorFigures(
        name=name,
        count=round(count),
        total_us=1.0,
        self_us=1.0,
        device_us=None,
        self_device_us=None,
        share=0.1,
        host_per_device=None,
    )


def _window(*operators: OperatorFigures, **changes: object) -> RankReport:
    step = StepSpan(step=1, start_us=0, duration_us=1e5, device_busy_share=None, loader_share=None)
    made = report(gpu=None, idle=None, steps=[step], operators=list(operators))
    return msgspec.structs.replace(made, **changes)


# --- own collectives ---


def _member(number: int, looks: int, window: RankReport | None = None, **subjects: object) -> RankSignals:
    told: dict[str, object] = {
        "stacks": stacks(100, _PLACE, communication=looks, backward=100 - looks),
        "parallel": ParallelFacts(backend="gloo", world_size=2),
        "model": _model(),
    }
    return rank(
        number,
        world_size=2,
        shares=_BLIND,
        loader=None,
        patterns=_ALONE,
        facts=facts(**(told | subjects)),
        report=window,
    )


def _pair(looks: tuple[int, int], window: RankReport | None = None, **subjects: object) -> RunSignals:
    return run(*(_member(number, each, window, **subjects) for number, each in enumerate(looks)))


@pytest.mark.parametrize(
    ("looks", "severity"),
    [((90, 25), "info"), ((90, 24), None), ((40, 90), "warning"), ((39, 90), "info")],
)
def test_waits_in_own_calls_cost_what_the_last_to_come_waits(
    looks: tuple[int, int], severity: str | None
) -> None:
    findings = found(_pair(looks))
    finding = findings.get("comm.exposed")
    assert (finding and finding.severity) == severity
    assert ("compute.bound" in findings) is (severity is None), "waiting is no computing"
    if finding is not None:
        assert finding.share == min(looks) / 100
        assert "calls of torch.distributed (mostly at net.py:9 average)" in finding.sentence


def test_own_calls_are_not_told_from_what_shards_a_model_nor_beside_ddp() -> None:
    assert "comm.exposed" not in found(_pair((90, 90), model=_model(sharded=8)))
    assert "comm.exposed" not in found(_pair((90, 90), parallel=ddp().parallel))
    few = stacks(POLICY.stack_looks - 1, communication=POLICY.stack_looks - 1)
    assert "comm.exposed" not in found(_pair((90, 90), stacks=few))


@pytest.mark.parametrize(
    ("calls", "tensors", "mib", "seen"),
    [
        (50, 100, 1.0, True),
        (49, 100, 1.0, False),
        (8, 9, 0.1, True),
        (7, 7, 0.1, False),
        (50, 100, 100, False),
    ],
)
def test_gradients_exchanged_one_by_one(calls: int, tensors: int, mib: float, seen: bool) -> None:
    made = _pair((90, 90), _window(_operator("c10d::allreduce_", calls)), model=_model(tensors, mib))
    findings = found(made)
    finding = findings.get("comm.buckets")
    assert (finding is not None) is seen
    if finding is not None:
        assert (finding.severity, finding.share) == ("critical", 0.9)
        assert finding.remedy is not None
        assert finding.remedy.at == "net.py:9 average"
        assert findings["comm.exposed"].under == "comm.buckets"
        assert lead(made).code == "comm.buckets"


def test_many_calls_that_cost_little_are_left_alone() -> None:
    window = _window(_operator("c10d::allreduce_", 100))
    assert "comm.buckets" in found(_pair((25, 25), window))
    assert "comm.buckets" not in found(_pair((24, 24), window))


def test_on_gpus_the_device_waits_and_a_window_shows_it() -> None:
    def pair(exposed: float) -> RunSignals:
        computed = GpuShares(compute_only=1 - exposed, overlap=0, comm_exposed=exposed, mem_exposed=0, idle=0)
        told: RankFacts = facts(parallel=ParallelFacts(backend="nccl", world_size=2), model=_model())
        members = (
            gpu_rank(number, world_size=2, patterns=_ALONE, facts=told, report=report(gpu=computed))
            for number in range(2)
        )
        return run(*members, gpus=(gpu(ranks=[0, 1]),))

    assert found(pair(0.2))["comm.exposed"].severity == "warning"
    assert found(pair(0.1))["comm.exposed"].severity == "info"
    assert "comm.exposed" not in found(pair(0.09))


# --- micro-batches that only a window tells ---


def _accumulating(
    backwards: int = 40, calls: int = 28_000, before_ms: float | None = 97.0, optimizer: float = 0.01
) -> RankSignals:
    window = _window(
        _operator("torch::autograd::AccumulateGrad", 30 * backwards),
        _operator("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 30 * backwards),
        _operator("aten::mm", calls / 2),
        _operator("aten::add_", calls / 2),
        step_ms_before=before_ms,
        optimizer_share=optimizer,
    )
    told = facts(stacks=stacks(100, model=30, backward=60, script=10), model=_model(30))
    return rank(step_ms=111.0, shares=_BLIND, loader=None, patterns=_ALONE, facts=told, report=window)


def test_many_micro_batches_of_short_calls() -> None:
    finding = lead(run(_accumulating()))
    assert (finding.code, finding.severity) == ("compute.small_batch", "warning")
    assert "40 micro-batches" in finding.sentence
    assert "3.5 us" in finding.sentence
    assert finding.unsure is not None
    assert "compute.bound" not in found(run(_accumulating()))


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"backwards": 4}, True),
        ({"backwards": 3}, False),
        ({"calls": 10_000, "before_ms": 59.9}, True),
        ({"calls": 10_000, "before_ms": 60.0}, False),
        ({"before_ms": None}, True),
        ({"optimizer": 0.49}, True),
        ({"optimizer": 0.5}, False),
    ],
)
def test_what_makes_micro_batches_too_small(changes: dict[str, float], seen: bool) -> None:
    assert ("compute.small_batch" in found(run(_accumulating(**changes)))) is seen  # type: ignore[arg-type]
