"""`compute.backward_ratio`: a forward that runs again in the backward, or one much longer than it.

That the forward runs again (activation checkpointing) is told from looks at the stack, never from lengths: a
backward may be long for many reasons.
"""

import re
from collections.abc import Iterator

from perftui.ipc.facts import StackFacts
from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import main_place, number, percent, share, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import RankSignals

CODE = "compute.backward_ratio"
_STARTS_ONE = re.compile(r"backward\(|grad\(")


def backward_ratio(case: Case) -> Iterator[Finding | Abstention]:
    """Judge both; ranks compute alike, so the first of whom something can be said stands for all."""
    for rank in case.ranks:
        found = _recomputed(case, rank) or _forward_alone(case, rank)
        if found is not None:
            yield found
            return


def _recomputed(case: Case, rank: RankSignals) -> Finding | Abstention | None:
    """Judge a forward that the backward computes again."""
    policy, stacks = case.policy, rank.facts.stacks
    if stacks is None or stacks.looks < policy.stack_looks:
        return None
    looks = looks_recomputing(stacks)
    cost = looks / stacks.looks
    if looks < policy.recompute_looks or cost < policy.recompute_info:
        return None
    if not case.paced_by(rank, "model", "device", "host"):
        return None
    free = _memory_free(case, rank)
    if free is not None and free < policy.memory_free:
        reason = f"the forward runs again in the backward, and {percent(1 - free)} of the memory are in use"
        return Abstention(CODE, reason, "a run without activation checkpointing, if it fits", rank.rank)
    on_cpu = rank.device == "cpu"
    room = "" if free is None else f", with {percent(free)} of the memory free"
    return Finding(
        code=CODE,
        severity="info" if free is None else "warning",
        share=min(1.0, cost) if on_cpu else 0.0,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"The forward runs again in the backward (activation checkpointing): {percent(cost)} of the "
        f"looks at the training found it there{room}.",
        evidence=[
            number("looks that found it", looks, ""),
            number("looks", stacks.looks, ""),
            *([] if rank.shares.forward is None else [share(rank, "forward", rank.shares.forward)]),
            *([] if not rank.shares.backward else [share(rank, "backward", rank.shares.backward)]),
            *([] if free is None else [number("memory free", free, "share")]),
            step(rank),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2) if on_cpu else None,
            advice="leave activation checkpointing out where memory allows, or checkpoint fewer layers, and "
            "none of them twice",
            semantics="numeric",
            caution="activations of the whole step are kept then: watch the memory's peak",
        ),
        unsure="whether the activations fit into memory without it" if free is None else None,
    )


def looks_recomputing(stacks: StackFacts) -> int:
    """Return how many looks found a forward within the backward.

    Recordings of older versions do not tell: there, lines of a module's forward that were found in the
    backward too, and do not start one themselves.
    """
    forward = {place.at for place in stacks.places if place.area == "model"}
    again = sum(
        place.count
        for place in stacks.places
        if place.area == "backward"
        and place.at in forward
        and place.at.endswith(".forward")
        and not _STARTS_ONE.search(place.line or "")
    )
    return max(stacks.recomputing, again)


def _memory_free(case: Case, rank: RankSignals) -> float | None:
    """Return the share of the memory of the rank's device that was never in use; None: not known."""
    if rank.device == "cpu":
        host = case.host(rank)
        if host is None or host.memory_used_mib is None or not host.memory_total_mib:
            return None
        return max(0.0, 1 - host.memory_used_mib / host.memory_total_mib)
    gpu, allocator = case.gpu(rank), rank.facts.allocator
    if gpu is None or allocator is None or not gpu.memory_total_mib:
        return None
    return max(0.0, 1 - allocator.peak_reserved_mib / gpu.memory_total_mib)


def _forward_alone(case: Case, rank: RankSignals) -> Finding | None:
    """Judge a forward much longer than its backward."""
    policy = case.policy
    forward, backward = rank.shares.forward, rank.shares.backward
    if forward is None or not backward or rank.device != "cpu" or not case.paced_by(rank, "model"):
        return None
    ratio, both = forward / backward, forward + backward
    if both < 0.5 or both * rank.step_ms.mean < policy.wait_floor_ms or ratio <= policy.backward_high:
        return None
    if any(each.kind == "LBFGS" for each in rank.facts.optimizers or []):
        return None  # its closure computes the model several times a step
    if max(rank.world_size, case.signals.world_size) > 1:
        return None  # either may hold waiting for other ranks
    place = main_place(rank.facts.stacks, policy.place_share, "model", "script")
    where = "" if place is None else f", mostly at {place.at}"
    return Finding(
        code=CODE,
        severity="info",
        share=max(0.0, min(1.0, forward - backward)),
        sentence=f"The forward takes {ratio:.1f} times as long as the backward, where half as long is usual"
        f"{where}: much of it leaves no gradient (work on the batch, frozen layers, metrics).",
        evidence=[share(rank, "forward", forward), share(rank, "backward", backward), step(rank)],
        remedy=Remedy(
            advice="see what the forward does beside the trained layers: what needs no gradient can run in "
            "the loader's workers, or once",
            at=None if place is None else place.at,
            semantics="numeric",
        ),
        unsure="a profile window names the operators, and with stacks the lines",
    )
