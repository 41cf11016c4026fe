"""`compute.small_batch` on a CPU: calls of operators cost more than the numbers they are called for."""

from collections.abc import Iterator

from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import RankSignals


def small_batch_on_cpu(case: Case) -> Iterator[Finding | Abstention]:
    """Judge forward and backward of a few samples by what they take for each tensor of parameters.

    Every such tensor stands for some calls forward and backward, whatever the batch; where it takes no longer
    than these calls, more samples come nearly for nothing.
    """
    policy = case.policy
    for rank in case.ranks:
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
        each_us = 1e3 * (forward + backward) * rank.step_ms.mean / micro / model.tensors
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
    return Finding(
        code="compute.small_batch",
        severity="warning",
        share=0.0,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"Forward and backward compute {samples:g} sample(s) at a time and take {each_us:.0f} us "
        f"for each of {model.tensors} tensors of parameters: that is what calling the operators takes, and "
        "more samples a call would hardly take longer"
        f"{f'; {micro:.0f} such batches are accumulated for a step' if several else ''}.",
        evidence=[
            number("samples a forward", samples, "", rank.window_steps),
            number("forward and backward for a tensor of parameters", each_us, "us", rank.window_steps),
            *([number("micro-batches a step", micro, "", rank.window_steps)] if several else []),
            step(rank),
        ],
        remedy=Remedy(
            advice="larger micro-batches, and fewer of them a step: the same samples, as long as memory lasts"
            if several
            else "a larger batch, by the script's own argument",
            semantics="numeric" if several else "changes-training",
            caution="layers that look at the whole batch (batch norm) see another one"
            if several
            else "another batch size is another training: the learning rate has to follow",
        ),
        unsure="a short run with a larger batch tells what it saves a sample",
    )
