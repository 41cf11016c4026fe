"""`compute.backward_ratio`: a forward that runs again in the backward, or one much longer than it.

That the forward runs again (activation checkpointing) is told from looks at the stack, never from lengths: a
backward may be long for many reasons. So is that a forward is long by design: a teacher, a target network or
a frozen backbone leaves no gradient and is there for that.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perftui.ipc.facts import StackFacts
from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import main_place, number, percent, share, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import RankSignals

CODE = "compute.backward_ratio"
_NOT_KNOWN = (
    "how much the activations take without it: watch the memory's peak over some steps of a run without it"
)
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
    room = _memory_free(case, rank)
    free = None if room is None else room.share
    if free is not None and free < policy.memory_free:
        reason = f"the forward runs again in the backward, and {percent(1 - free)} of the memory are in use"
        return Abstention(CODE, reason, "a run without activation checkpointing, if it fits", rank.rank)
    on_cpu = rank.device == "cpu"
    beside = "" if room is None else f", with {percent(room.share)} of the memory free ({room.text})"
    return Finding(
        code=CODE,
        severity="info" if free is None else "warning",
        share=min(1.0, cost) if on_cpu else 0.0,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"The forward runs again in the backward (activation checkpointing): {percent(cost)} of the "
        f"looks at the training found it there{beside}.",
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
        unsure=_NOT_KNOWN,
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


@dataclass(frozen=True)
class _Room:
    """Memory that the run may use and does not; a control group's limit counts where it is lower."""

    free_mib: float
    total_mib: float

    @property
    def share(self) -> float:
        return max(0.0, self.free_mib / self.total_mib)

    @property
    def text(self) -> str:
        return f"{max(0.0, self.free_mib) / 1024:.1f} of {self.total_mib / 1024:.1f} GiB"


def _memory_free(case: Case, rank: RankSignals) -> _Room | None:
    """Return what of the memory of the rank's device is not in use, on a GPU: never was; None: not known."""
    if rank.device == "cpu":
        host = case.host(rank)
        if host is None or host.memory_used_mib is None or not host.memory_total_mib:
            return None
        return _Room(host.memory_total_mib - host.memory_used_mib, host.memory_total_mib)
    gpu, allocator = case.gpu(rank), rank.facts.allocator
    if gpu is None or allocator is None or not gpu.memory_total_mib:
        return None
    return _Room(gpu.memory_total_mib - allocator.peak_reserved_mib, gpu.memory_total_mib)


def _forward_alone(case: Case, rank: RankSignals) -> Finding | None:
    """Judge a forward much longer than its backward."""
    ratio, backward = _ratio(case, rank), rank.shares.backward or 0.0
    forward = rank.shares.forward
    if ratio is None or forward is None:
        return None
    frozen = _frozen(case, rank)
    if frozen is not None:
        return _by_design(rank, ratio, frozen)
    place = main_place(rank.facts.stacks, case.policy.place_share, "model", "script")
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


def _ratio(case: Case, rank: RankSignals) -> float | None:
    """Return forward over backward where that is too much and can be judged; else None."""
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
    return ratio


def _frozen(case: Case, rank: RankSignals) -> float | None:
    """Return the share of the step in forwards that leave no gradient by design, where these explain it all.

    Looks at the training thread tell what of the forward they take: without it the rest is not too long.
    """
    policy, stacks = case.policy, rank.facts.stacks
    forward, backward = rank.shares.forward, rank.shares.backward
    if stacks is None or stacks.looks < policy.stack_looks or stacks.no_gradient < policy.own_looks:
        return None
    if forward is None or not backward:
        return None
    ahead = stacks.areas.get("model", 0) + stacks.areas.get("script", 0)
    frozen = forward * min(1.0, stacks.no_gradient / max(1, ahead))
    return frozen if forward - frozen <= policy.backward_high * backward else None


def long_by_design(case: Case, rank: RankSignals) -> bool:
    """Tell whether a forward is too long, and forwards that are there to leave no gradient explain that."""
    again = isinstance(_recomputed(case, rank), Finding)
    return not again and _ratio(case, rank) is not None and _frozen(case, rank) is not None


def _by_design(rank: RankSignals, ratio: float, frozen: float) -> Finding:
    stacks = rank.facts.stacks
    looks = 0 if stacks is None else stacks.no_gradient
    return Finding(
        code=CODE,
        severity="info",
        share=min(1.0, frozen),
        sentence=f"A model without gradients takes about {percent(frozen)} of each step (a teacher, a "
        f"target, frozen layers): so the forward takes {ratio:.1f} times as long as the backward. Its "
        "answers could be kept if its inputs repeat.",
        evidence=[
            number("looks in a forward without gradients", looks, ""),
            share(rank, "forward", rank.shares.forward or 0.0),
            share(rank, "backward", rank.shares.backward or 0.0),
            step(rank),
        ],
        remedy=Remedy(
            advice="compute its answers once and keep them, if no augmentation alters its inputs; else in "
            "half precision, or compiled",
            semantics="numeric",
        ),
    )
