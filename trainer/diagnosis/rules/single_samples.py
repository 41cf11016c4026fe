"""`compute.small_batch` on a CPU: calls of operators cost more than the numbers they are called for."""

from collections.abc import Iterator

from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.trace_report import RankReport
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import area_share, number, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import RankSignals

_LARGER_MICRO = (
    "a larger batch_size, and as many times fewer backwards before each optimizer.step(): the same samples a "
    "step, as long as memory lasts"
)


def small_batch_on_cpu(case: Case) -> Iterator[Finding | Abstention]:
    """Judge forward and backward of a few samples by what they take for each tensor of parameters.

    Every such tensor stands for some calls forward and backward, whatever the batch; where it takes no longer
    than these calls, more samples come nearly for nothing.
    """
    policy = case.policy
    for rank in case.ranks:
        accumulated = _accumulated(case, rank)
        if accumulated is not None:
            yield accumulated
            return
        samples, model = _samples(rank), rank.facts.model
        if rank.device != "cpu" or samples is None or samples > policy.small_batch_cpu:
            continue
        if model is None or not model.tensors or not case.paced_by(rank, "model"):
            continue
        if max(rank.world_size, case.signals.world_size) > 1:
            continue  # that a rank has too little for each exchange is another finding
        forward, backward = rank.shares.forward, rank.shares.backward
        if forward is None or backward is None or forward + backward < 0.5:
            continue
        micro = max(1.0, rank.patterns.micro_batches)
        # CPU time: a thread that has to wait for a core takes no longer for its calls.
        on_core = 1.0 if rank.cpu_share is None else min(1.0, rank.cpu_share)
        each_us = 1e3 * (forward + backward) * on_core * rank.step_ms.mean / micro / model.tensors
        if each_us >= policy.small_batch_call_us:
            continue
        yield _finding(case, rank, samples, micro, each_us)
        return


def _samples(rank: RankSignals) -> float | None:
    """Return the samples of a micro-batch."""
    if rank.loader is not None and rank.loader.batch_size is not None:
        return float(rank.loader.batch_size)
    if rank.patterns.samples is None:
        return None
    return rank.patterns.samples / max(1.0, rank.patterns.micro_batches)


def _finding(case: Case, rank: RankSignals, samples: float, micro: float, each_us: float) -> Finding:
    model = rank.facts.model
    assert model is not None
    several = micro > 1
    each_ms = each_us * model.tensors / 1e3
    what = "one sample" if samples == 1 else f"{samples:g} samples"
    return Finding(
        code="compute.small_batch",
        severity="warning",
        share=0.0,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"Each forward and backward computes {what} and takes {each_ms:.2g} ms, which is what "
        "calling the operators takes, however few samples: more at a time would take hardly longer"
        f"{f'. {micro:.0f} such batches are accumulated for a step' if several else ''}.",
        evidence=[
            number("samples a forward", samples, "", rank.window_steps),
            number("forward and backward for a tensor of parameters", each_us, "us", rank.window_steps),
            *([number("micro-batches a step", micro, "", rank.window_steps)] if several else []),
            step(rank),
        ],
        remedy=Remedy(
            advice=_LARGER_MICRO
            if several
            else "a larger batch_size in the DataLoader, 32 for instance, with fewer steps an epoch",
            semantics="numeric" if several else "changes-training",
            caution="layers that look at the whole batch (batch norm) see another one"
            if several
            else "another batch size is another training: the learning rate has to follow",
        ),
        unsure="a short run with a larger batch tells what it saves a sample",
    )


def _accumulated(case: Case, rank: RankSignals) -> Finding | None:
    """Judge micro-batches of a size that nobody tells, by what a step takes for each operator it calls.

    Operators of that length do the same for more samples in about the same time.
    """
    report, model, policy = rank.report, rank.facts.model, case.policy
    if _samples(rank) is not None or rank.device != "cpu" or rank.world_size > 1:
        return None
    if report is None or model is None or not model.tensors or not case.paced_by(rank, "model"):
        return None
    if (area_share(rank.facts.stacks, policy.stack_looks, "model", "backward") or 0.0) < 0.5:
        return None
    if (report.optimizer_share or 0.0) >= 0.5:
        return None  # an optimizer that calls forward and backward itself needs each of them
    backwards, calls = _backwards(report) / model.tensors, _called(report)
    if backwards < policy.accumulated or not calls:
        return None
    each_us = 1e3 * (report.step_ms_before or rank.step_ms.mean) / calls
    return (
        _accumulated_finding(rank, backwards, calls, each_us)
        if each_us < policy.accumulated_call_us
        else None
    )


def _backwards(report: RankReport) -> float:
    """Return how many gradients were accumulated in a step, one for each tensor and backward."""
    count = sum(each.count for each in report.operators if each.name == "torch::autograd::AccumulateGrad")
    return count / max(1, len(report.steps))


def _called(report: RankReport) -> float:
    """Return the operators that a step called."""
    count = sum(each.count for each in report.operators if each.name.startswith("aten::"))
    return count / max(1, len(report.steps))


def _accumulated_finding(rank: RankSignals, backwards: float, calls: float, each_us: float) -> Finding:
    report = rank.report
    steps = 0 if report is None else len(report.steps)
    return Finding(
        code="compute.small_batch",
        severity="warning",
        share=0.0,
        sentence=f"A step accumulates {backwards:.0f} micro-batches and calls {calls:,.0f} operators, each "
        f"of which takes {each_us:.1f} us: that is what calling them takes, and with more samples at a time "
        "it would take hardly longer.",
        evidence=[
            number("micro-batches a step", backwards, "", steps),
            number("operators a step", calls, "", steps),
            number("step for each of them", each_us, "us", steps),
            step(rank),
        ],
        remedy=Remedy(
            advice=_LARGER_MICRO,
            semantics="numeric",
            caution="layers that look at the whole batch (batch norm) see another one",
        ),
        unsure="how many samples a micro-batch has was not seen; a short run with larger ones tells",
    )
