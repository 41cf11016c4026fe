"""What the model's own time goes into: recomputation, lone samples, odd operators; each at its thresholds."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import ModelFacts, OptimizerFacts, StackFacts, StackPlace
from perftui.ipc.trace_report import CallerFigures, OperatorFigures
from perftui.trainer.diagnosis import POLICY, judge
from perftui.trainer.diagnosis.signals import PauseSignals, RankSignals, StepPatterns

from .made import (
    BUSY,
    QUIET,
    abstained,
    facts,
    found,
    gpu,
    gpu_rank,
    lead,
    loader,
    rank,
    report,
    run,
    shares,
    stacks,
)

_ROOMY = replace(QUIET, memory_used_mib=1000.0, memory_total_mib=16_000.0)


# --- the forward runs again ---


def _recomputing(looks: int, of: int = 100, **changes: object) -> StackFacts:
    made = stacks(of, model=30, backward=of - 30)
    return msgspec.structs.replace(made, recomputing=looks, **changes)


@pytest.mark.parametrize(("looks", "seen"), [(9, False), (10, True), (30, True)])
def test_a_forward_that_runs_again_in_the_backward(looks: int, seen: bool) -> None:
    finding = found(run(rank(facts=facts(stacks=_recomputing(looks))), host=_ROOMY)).get(
        "compute.backward_ratio"
    )
    assert (finding is not None) is seen
    if finding is not None:
        assert (finding.severity, finding.share) == ("warning", looks / 100)
        assert finding.remedy is not None
        assert finding.remedy.bound == round(1 / (1 - looks / 100), 2)
        assert "94 % of the memory free (14.6 of 15.6 GiB)" in finding.sentence
        assert "how much the activations take" in (finding.unsure or "")


def test_recomputation_is_told_from_looks_and_never_from_lengths() -> None:
    long = rank(shares=shares(forward=0.05, optimizer=0.05), facts=facts(stacks=_recomputing(0)))
    assert "compute.backward_ratio" not in found(run(long, host=_ROOMY)), "a backward may be long"
    few = rank(facts=facts(stacks=_recomputing(10, of=POLICY.stack_looks - 1)))
    assert "compute.backward_ratio" not in found(run(few, host=_ROOMY))
    rare = rank(facts=facts(stacks=_recomputing(POLICY.recompute_looks - 1, of=40)))
    assert "compute.backward_ratio" not in found(run(rare, host=_ROOMY))


def test_recomputation_where_memory_is_short_or_not_known() -> None:
    again = rank(facts=facts(stacks=_recomputing(30)))
    unknown = found(run(again))["compute.backward_ratio"]
    assert (unknown.severity, unknown.unsure is None) == ("info", False)
    full = replace(_ROOMY, memory_used_mib=8_100.0)
    assert "compute.backward_ratio" in abstained(judge(run(again, host=full)))
    on_gpu = gpu_rank(facts=facts(stacks=_recomputing(30)))
    finding = found(run(on_gpu, gpus=(gpu(),)))["compute.backward_ratio"]
    assert (finding.severity, finding.share) == ("info", 0.0), "looks tell of the host's time"


def test_older_recordings_tell_by_lines_of_a_modules_forward() -> None:
    def places(name: str, line: str) -> list[StackPlace]:
        return [
            StackPlace(area=area, at=f"net.py:9 {name}", line=line, count=30)
            for area in ("model", "backward")
        ]

    def codes(name: str, line: str) -> set[str]:
        looked = _recomputing(0, places=places(name, line))
        return set(found(run(rank(facts=facts(stacks=looked)), host=_ROOMY)))

    assert "compute.backward_ratio" in codes("Block.forward", "return self.grow(inputs)")
    assert "compute.backward_ratio" not in codes("<module>", "loss(model(inputs)).backward()")
    assert "compute.backward_ratio" not in codes("<module>", "trainer.train()")
    assert "compute.backward_ratio" not in codes("Meta.forward", "torch.autograd.grad(loss, weights)")


# --- a forward much longer than its backward ---


@pytest.mark.parametrize(("forward", "seen"), [(0.60, False), (0.62, True), (0.14, False), (0.3, False)])
def test_a_forward_much_longer_than_its_backward(forward: float, seen: bool) -> None:
    """Of 0.92 that both take together."""
    place = StackPlace(area="model", at="net.py:4 forward", line="return frozen(inputs)", count=60)
    looked = facts(stacks=stacks(100, place, model=70, backward=30))
    made = rank(shares=shares(forward=forward, optimizer=0.05), facts=looked)
    finding = found(run(made)).get("compute.backward_ratio")
    assert (finding is not None) is seen
    if finding is not None:
        assert finding.severity == "info"
        assert finding.unsure is not None
        assert "mostly at net.py:4 forward" in finding.sentence
        assert "compute.bound" not in found(run(made)), "that is no 'nothing to fix'"
    assert "compute.backward_ratio" not in found(run(made, rank(1, shares=made.shares)))
    closure = facts(optimizers=[OptimizerFacts(kind="LBFGS", groups=1, tensors=4, parameters=10)])
    assert "compute.backward_ratio" not in found(run(replace(made, facts=closure)))


def _taught(frozen: int, *, forward: float = 0.67, of: int = 200) -> RankSignals:
    """So many of 120 looks before the backward are in a model that leaves no gradient."""
    seen = msgspec.structs.replace(stacks(of, model=110, script=10, backward=80), no_gradient=frozen)
    return rank(shares=shares(forward=forward, optimizer=0.01), facts=facts(stacks=seen))


@pytest.mark.parametrize(("frozen", "design"), [(0, False), (15, False), (17, True), (80, True)])
def test_a_model_without_gradients_is_a_remark_under_a_healthy_run(frozen: int, design: bool) -> None:
    """0.67 of the step before 0.29: without 0.09 of it, that is 16.1 looks, it would be twice as long."""
    findings = judge(run(_taught(frozen))).findings
    remark = next(each for each in findings if each.code == "compute.backward_ratio")
    assert remark.severity == "info"
    if not design:
        assert remark.under is None
        assert "compute.bound" not in {each.code for each in findings}
        return
    assert findings[0].code == "compute.bound"
    assert (remark.under, remark.remedy) == ("compute.bound", None)
    assert remark.share == pytest.approx(0.67 * frozen / 120)
    assert "a teacher, a target, frozen layers" in remark.sentence
    assert "could be kept if its inputs repeat" in remark.sentence


def test_where_a_model_without_gradients_makes_nothing_long_it_is_no_word_worth() -> None:
    assert "compute.backward_ratio" not in found(run(_taught(40, forward=0.5)))


def test_beside_something_to_mend_a_model_without_gradients_stays_a_remark() -> None:
    waiting = replace(_taught(80), pauses=(PauseSignals("checkpoint", 9, 900.0, 100.0, 0.3),))
    findings = judge(run(waiting)).findings
    assert findings[0].code == "pause.checkpoint"
    remark = next(each for each in findings if each.code == "compute.backward_ratio")
    assert (remark.under, remark.remedy is None) == (None, False)


def test_looks_too_few_tell_nothing_of_a_model_without_gradients() -> None:
    few = msgspec.structs.replace(stacks(POLICY.stack_looks - 1, model=30), no_gradient=25)
    lone = msgspec.structs.replace(stacks(POLICY.stack_looks, model=5), no_gradient=POLICY.own_looks - 1)
    for seen in (few, lone):
        made = rank(shares=shares(forward=0.67, optimizer=0.01), facts=facts(stacks=seen))
        assert found(run(made))["compute.backward_ratio"].unsure is not None


# --- lone samples on a CPU ---


def _lone(
    samples: int | None = 1, micro: float = 1.0, step_ms: float = 6.0, tensors: int = 60
) -> RankSignals:
    model = ModelFacts(
        tensors=tensors, parameters=9000, mib=0.1, dtypes={"float32": 9000}, devices={"cpu": 9000}
    )
    patterns = StepPatterns(run_steps=200, compiling_of=100, samples=32.0, micro_batches=micro)
    return rank(
        step_ms=step_ms,
        loader=loader(batch_size=samples),
        patterns=patterns,
        facts=facts(model=model),
        cpu_share=1.0,
    )


def test_a_batch_of_one_on_a_cpu() -> None:
    """Forward and backward are 0.9 of the step: 90 us for each of 60 tensors."""
    finding = lead(run(_lone()))
    assert (finding.code, finding.severity) == ("compute.small_batch", "warning")
    assert "computes one sample and takes 5.4 ms" in finding.sentence
    assert [each.value for each in finding.evidence[:2]] == [1, pytest.approx(90)]
    assert finding.remedy is not None
    assert finding.remedy.semantics == "changes-training"


@pytest.mark.parametrize(
    ("made", "seen"),
    [
        (_lone(samples=POLICY.small_batch_cpu), True),
        (_lone(samples=POLICY.small_batch_cpu + 1), False),
        (_lone(step_ms=9.9), True),
        (_lone(step_ms=10.1), False),
        (_lone(samples=None), False),
        (replace(_lone(), facts=facts()), False),
        (replace(_lone(), shares=shares(wait=0.6, forward=0.1)), False),
    ],
)
def test_lone_samples_at_the_thresholds(made: RankSignals, seen: bool) -> None:
    """150 us for each tensor are reached at 10 ms a step."""
    assert ("compute.small_batch" in found(run(made))) is seen


def test_waiting_for_a_core_is_no_time_of_a_call() -> None:
    """On a busy host steps are three times as long, and the calls in them are not."""
    stretched = _lone(step_ms=18.0)
    assert "compute.small_batch" not in found(run(stretched, host=BUSY))
    finding = found(run(replace(stretched, cpu_share=1 / 3), host=BUSY))["compute.small_batch"]
    assert "takes 5.4 ms" in finding.sentence


def test_accumulated_single_samples_may_become_one_batch() -> None:
    finding = lead(run(_lone(micro=64.0, step_ms=300.0)))
    assert finding.code == "compute.small_batch"
    assert "64 such batches are accumulated" in finding.sentence
    assert finding.remedy is not None
    assert finding.remedy.semantics == "numeric"
    unknown = replace(_lone(micro=32.0, step_ms=150.0), loader=None)
    assert "compute.small_batch" in found(run(unknown)), "32 samples a step in 32 micro-batches"


def test_lone_samples_of_several_ranks_are_another_finding() -> None:
    pair = [replace(_lone(), rank=number, world_size=2) for number in range(2)]
    assert "compute.small_batch" not in found(run(*pair))


# --- operators ---


def _operator(name: str, share: float, caller: str = "net.py:12 forward") -> OperatorFigures:
    return OperatorFigures(
        name=name,
        count=4,
        total_us=1,
        self_us=1,
        device_us=None,
        self_device_us=None,
        share=share,
        host_per_device=None,
        callers=[CallerFigures(caller=caller, count=4, total_us=1, device_us=None)],
    )


def _window(*operators: OperatorFigures) -> RankSignals:
    return rank(report=report(gpu=None, idle=None, operators=list(operators)))


def test_an_unusual_operator_that_holds_much_of_a_window() -> None:
    findings = found(run(_window(_operator("aten::_linalg_svd", 0.3), _operator("aten::mm", 0.5))))
    finding = findings["compute.operator"]
    assert (finding.severity, finding.share) == ("info", 0.3)
    assert finding.remedy is not None
    assert finding.remedy.at == "net.py:12 forward"
    assert finding.unsure is None
    assert "compute.bound" not in findings
    assert "compute.operator" not in found(run(_window(_operator("aten::_linalg_svd", 0.29))))
    assert "compute.operator" not in found(run(rank()))


@pytest.mark.parametrize(
    "name",
    [
        "aten::convolution_backward",
        "aten::mm",
        "aten::addmm",
        "aten::bmm",
        "aten::mkldnn_convolution",
        "aten::_slow_conv2d_forward",
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "aten::native_batch_norm_backward",
        "aten::_softmax",
        "aten::lstm",
        "aten::linear",
        "flash_attn::_flash_attn_forward",
        "gloo:all_reduce",
        "nccl:all_reduce",
        "c10d::allreduce_",
        "Optimizer.step#SGD.step",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "autograd::engine::evaluate_function: AddmmBackward0",
        "ProfilerStep#12",
    ],
)
def test_what_a_model_is_made_of_is_no_news(name: str) -> None:
    assert lead(run(_window(_operator(name, 0.9)))).code == "compute.bound"


@pytest.mark.parametrize(
    "name", ["aten::upsample_bilinear2d", "aten::index_put_", "aten::linalg_vector_norm", "aten::_fft_r2c"]
)
def test_what_is_unusual_is_told(name: str) -> None:
    assert lead(run(_window(_operator(name, 0.4)))).code == "compute.operator"


def test_operators_within_optimizer_and_loader_are_theirs() -> None:
    for caller in ("Optimizer.step#Adam.step", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
        assert "compute.operator" not in found(run(_window(_operator("aten::sqrt", 0.6, caller))))


def test_the_largest_operator_is_told_with_a_healthy_run() -> None:
    finding = lead(run(_window(_operator("aten::convolution_backward", 0.57))))
    assert finding.code == "compute.bound"
    assert any("convolution_backward" in each.name and each.value == 0.57 for each in finding.evidence)


def test_simple_operators_on_a_cpu_may_be_slow_by_denormal_numbers() -> None:
    simple = found(run(_window(_operator("aten::sqrt", 0.58))))["compute.operator"]
    assert "set_flush_denormal" in (simple.unsure or "")
    model = ModelFacts(
        tensors=3, parameters=9, mib=0.1, dtypes={"float32": 9}, devices={"cpu": 9}, subnormal=0.5
    )
    known = replace(_window(_operator("aten::sqrt", 0.58)), facts=facts(model=model))
    assert lead(run(known)).code == "compute.denormals"
    assert found(run(known))["compute.operator"].under == "compute.denormals"
