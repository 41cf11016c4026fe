"""`comm.*`: time in which a rank only waits for the exchange of gradients, and settings that cause it.

Of ranks that wait for one another only the last to come sees what the exchange itself takes: it waits least.
"""

from collections.abc import Iterator
from typing import NamedTuple

from perftui.ipc.facts import DdpFacts
from perftui.ipc.findings import Evidence, Finding, Remedy, Severity
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, offered, percent, size, step
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.exchange import exchange_share, least_cost
from perftui.trainer.diagnosis.rules.own_collectives import own_place, reduced_singly
from perftui.trainer.diagnosis.signals import RankSignals

_OFF = frozenset({"", "0"})
_DISABLED = {
    "NCCL_P2P_DISABLE": "GPUs do not reach each other directly",
    "NCCL_SHM_DISABLE": "shared memory between ranks is not used",
    "NCCL_IB_DISABLE": "InfiniBand and RoCE are not used",
}
_SETTLED = "a profile window on all ranks shows which collectives are exposed"


def exposed(case: Case) -> Iterator[Finding | Abstention]:
    """Judge the exchange of gradients as a whole."""
    if case.signals.world_size < 2 or len(case.ranks) < case.signals.world_size:
        return
    found = exchange_share(case)
    if found is None:
        if any(rank.facts.parallel is not None for rank in case.ranks):
            yield Abstention("comm.exposed", "communication was looked at in too few steps", _SETTLED)
        return
    cost, rank = found
    info, warning = least_cost(case, rank)
    if cost < info:
        return
    on_cpu = rank.device == "cpu"
    # On a busy host the exchange waits for cores that others have: what it costs by itself is not known.
    doubtful = on_cpu and any(case.strongly_contended(each.host) for each in case.ranks)
    yield Finding(
        code="comm.exposed",
        severity="warning" if cost >= warning and not doubtful else "info",
        share=cost,
        sentence=f"Every rank waits at least {percent(cost)} of each step for {_awaited(rank)}, with nothing "
        "to compute meanwhile.",
        evidence=[
            number(f"exposed communication of rank {rank.rank}", cost, "share", rank.window_steps),
            step(rank),
            *_bytes(rank),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2),
            advice="more to compute for each exchange (a larger batch a rank, or accumulated gradients under "
            "no_sync), fewer bytes (a bfloat16 hook), or fewer ranks"
            + ("; on one machine's CPU, fewer ranks with more threads each" if on_cpu else ""),
            semantics="changes-training",
            caution="a larger global batch is another training",
        ),
    )


def _awaited(rank: RankSignals) -> str:
    if _ddp(rank) is not None:
        return "the exchange of gradients"
    at = own_place(rank)
    return f"other ranks in calls of torch.distributed{'' if at is None else f' (mostly at {at})'}"


def _bytes(rank: RankSignals) -> list[Evidence]:
    ddp = _ddp(rank)
    if ddp is None or not ddp.buckets_mib:
        return []
    return [
        number("buckets", len(ddp.buckets_mib), ""),
        number("gradients a step", sum(ddp.buckets_mib), "MiB"),
    ]


def _ddp(rank: RankSignals) -> DdpFacts | None:
    return None if rank.facts.parallel is None else rank.facts.parallel.ddp


def _felt(case: Case) -> tuple[float, bool]:
    """Return what the exchange costs as far as is known, and whether it is known."""
    found = exchange_share(case)
    return (0.0, False) if found is None else (found[0], True)


def _severity(case: Case, cost: float, *, known: bool) -> Severity:
    if not known or cost < case.policy.comm_info:
        return "info"
    return "critical" if cost >= 2 * case.policy.comm_warning else "warning"


def _latency_bound(ddp: DdpFacts, policy: Policy) -> bool:
    """Tell whether a call of the exchange costs more than the bytes it carries."""
    sizes = ddp.buckets_mib
    return bool(sizes) and sum(sizes or ()) / len(sizes or ()) < policy.tiny_bucket_mib


class _Pieces(NamedTuple):
    """What a step is made of."""

    name: str
    value: float


def _pieces(rank: RankSignals, ddp: DdpFacts, policy: Policy) -> _Pieces | None:
    """Return the micro-batches of a step, or its backwards where batches are not told; None: no such parts.

    Backwards on one module before the one optimizer steps add to the same gradients, whatever they are of.
    """
    if rank.patterns.micro_batches >= policy.sync_backwards:
        return _Pieces("micro-batches", rank.patterns.micro_batches)
    alone = ddp.modules == 1 and len(rank.facts.optimizers or ()) == 1
    backwards = ddp.backwards_per_step or 0.0
    if alone and backwards >= policy.sync_backwards_unseen:
        return _Pieces("backwards", backwards)
    return None


def no_sync(case: Case) -> Iterator[Finding | Abstention]:
    """Judge accumulation that exchanges gradients after every micro-batch."""
    for rank in case.ranks:
        ddp, policy = _ddp(rank), case.policy
        if ddp is None or rank.world_size < 2:
            continue
        if ddp.syncs_per_step is None or ddp.backwards_per_step is None:
            if rank.patterns.micro_batches >= policy.sync_backwards:
                reason = f"how often rank {rank.rank} exchanges gradients in a step was not seen"
                yield Abstention("comm.no_sync", reason, "some more steps", rank.rank)
            continue
        syncs = ddp.syncs_per_step
        pieces = _pieces(rank, ddp, policy)
        if syncs < policy.sync_backwards or pieces is None:
            continue  # several backwards on one batch, as in a GAN, have to exchange each their own
        cost, known = _felt(case)
        saved = cost * (1 - 1 / syncs)
        severity = _severity(case, saved, known=known)
        yield Finding(
            code="comm.no_sync",
            severity="warning" if severity == "info" and not known else severity,
            share=saved,
            sentence=f"Gradients are exchanged {syncs:.0f} times in a step of {pieces.value:.0f} "
            f"{pieces.name}; only the last exchange is needed.",
            evidence=[
                number("exchanges a step", syncs, "", rank.window_steps),
                number(f"{pieces.name} a step", pieces.value, "", rank.window_steps),
                *([number("exposed communication", cost, "share", rank.window_steps)] if known else []),
                step(rank),
            ],
            remedy=Remedy(
                bound=round(1 / (1 - min(saved, 0.99)), 2) if known else None,
                advice="with model.no_sync(): around forward and backward of all micro-batches but the last; "
                "elsewhere, 8 micro-batches on gloo went from 1096 ms to 518 ms",
                semantics="numeric",
                caution="the forward has to be inside it as well; off by one, ranks drift apart",
            ),
        )
        return


def find_unused(case: Case) -> Iterator[Finding | Abstention]:
    """Judge the search for unused parameters."""
    for rank in case.ranks:
        ddp = _ddp(rank)
        if ddp is None or not ddp.find_unused_parameters or rank.world_size < 2:
            continue
        cost, known = _felt(case)
        calls = len(ddp.buckets_mib or ()) + 1
        # Where calls cost and not bytes, each costs alike, and one of them says which parameters were used.
        paid = cost / calls if known and _latency_bound(ddp, case.policy) else 0.0
        felt = paid >= case.policy.comm_info
        yield Finding(
            code="comm.find_unused",
            severity="warning" if felt else "info",
            share=paid if felt else 0.0,
            sentence="DDP searches the graph for unused parameters in every step "
            "(find_unused_parameters=True)"
            + (
                f", and the ranks tell one another in one of {calls} exchanges, about {percent(paid)} of the "
                "step."
                if felt
                else "."
            ),
            evidence=[
                number("DDP modules", ddp.modules, ""),
                *([number("exchanges a step", calls, "")] if felt else []),
                *([number("exposed communication", cost, "share", rank.window_steps)] if felt else []),
                step(rank),
            ],
            remedy=Remedy(
                bound=round(1 / (1 - min(paid, 0.99)), 2) if felt else None,
                set=offered(rank, {"ddp.find_unused_parameters": False}),
                advice="find_unused_parameters=False, if every parameter takes part in every step: DDP "
                "warns on "
                "standard error when the search found nothing",
                semantics="numeric",
                caution="training stops with an error, or hangs, if some parameter is unused after all",
            ),
            unsure="a comparison with it off tells; reports of large models say 0 to 5 %",
        )
        return


def buckets(case: Case) -> Iterator[Finding | Abstention]:
    """Judge the sizes in which gradients travel."""
    policy = case.policy
    for rank in case.ranks:
        singly = _one_by_one(case, rank)
        if singly is not None:
            yield singly
            return
        ddp = _ddp(rank)
        if ddp is None or not ddp.buckets_mib or rank.world_size < 2:
            continue
        sizes, total = ddp.buckets_mib, sum(ddp.buckets_mib)
        tiny = len(sizes) >= policy.many_buckets and total / len(sizes) < policy.tiny_bucket_mib
        # A parameter larger than the limit travels alone whatever the limit is: then the model makes it one.
        chosen = ddp.bucket_cap_mb is not None and ddp.bucket_cap_mb >= total
        one = len(sizes) == 1 and total >= policy.one_bucket_mib and chosen
        cost, known = _felt(case)
        if not (tiny or one) or (known and cost < policy.comm_info):
            continue
        cap = "" if ddp.bucket_cap_mb is None else f" (bucket_cap_mb={ddp.bucket_cap_mb:g})"
        what = (
            f"in {len(sizes)} buckets of {size(total / len(sizes))} on average: each costs a call"
            if tiny
            else f"in one bucket of {total:.0f} MiB: it leaves when the backward is over, and hides "
            "under nothing"
        )
        yield Finding(
            code="comm.buckets",
            severity=_severity(case, cost, known=known),
            share=cost,
            sentence=f"Gradients are exchanged {what}{cap}.",
            evidence=[*_bytes(rank), step(rank)],
            remedy=Remedy(
                set=offered(rank, {"ddp.bucket_cap_mb": 25}),
                advice="an experiment: DistributedDataParallel(bucket_cap_mb=25), the default, and sizes "
                "around it",
                semantics="numeric",
                caution="no difference in some reports",
            ),
        )
        return


def _one_by_one(case: Case, rank: RankSignals) -> Finding | None:
    """Judge gradients that the script itself exchanges, each tensor by its own call."""
    found, (cost, known) = reduced_singly(rank, case.policy), _felt(case)
    if found is None or not known or cost < least_cost(case, rank)[0]:
        return None
    calls, mean_mib = found
    at = own_place(rank)
    return Finding(
        code="comm.buckets",
        severity=_severity(case, cost, known=known),
        share=cost,
        sentence=f"The script exchanges gradients one by one, in {calls:.0f} calls a step"
        f"{'' if at is None else f' (mostly at {at})'}: each costs a call rather than its "
        f"{1024 * mean_mib:.0f} KiB, and hides under nothing.",
        evidence=[
            number("all-reduces a step", calls, "", rank.window_steps),
            number("mean size of a gradient", 1024 * mean_mib, "KiB"),
            number("waiting for them", cost, "share", rank.window_steps),
            step(rank),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2),
            advice="DistributedDataParallel, which sends them in pieces of 25 MiB during the backward; or "
            "all of them flattened into one tensor and one call",
            at=at,
            semantics="numeric",
            caution="the sum over the ranks is rounded in another order",
        ),
    )


def backend(case: Case) -> Iterator[Finding | Abstention]:
    """Judge how GPUs exchange gradients."""
    for rank in case.ranks:
        parallel = rank.facts.parallel
        if parallel is None or not rank.device.startswith("cuda"):
            continue
        gloo = parallel.backend is not None and "nccl" not in parallel.backend and rank.world_size > 1
        if not gloo and not parallel.data_parallel:
            continue
        cost, known = _felt(case)
        yield Finding(
            code="comm.backend",
            severity="critical" if known and cost >= case.policy.comm_warning else "warning",
            share=cost,
            sentence=f"GPUs exchange gradients by {parallel.backend}, through the memory of the host."
            if gloo
            else "DataParallel drives several GPUs from one process: the model is copied out in every "
            "step and "
            "one GPU collects everything.",
            evidence=[number("ranks", rank.world_size, ""), step(rank)],
            remedy=Remedy(
                advice='init_process_group("nccl")' if gloo else "DistributedDataParallel under torchrun",
                semantics="numeric",
                caution="on GPUs without direct access to each other DataParallel was faster in one report",
            ),
        )
        return


def fabric(case: Case) -> Iterator[Finding | Abstention]:
    """Judge switches that take the fast way between GPUs away."""
    for rank in case.ranks:
        if rank.world_size < 2 or not rank.device.startswith("cuda"):
            continue
        environment = rank.facts.environment or {}
        off = [name for name in _DISABLED if environment.get(name, "") not in _OFF]
        cost, known = _felt(case)
        if not off or (known and cost < case.policy.comm_info):
            continue
        yield Finding(
            code="comm.fabric",
            severity=_severity(case, cost, known=known),
            share=cost,
            sentence=f"{off[0]} is set: {_DISABLED[off[0]]}.",
            evidence=[number("exposed communication", cost, "share", rank.window_steps), step(rank)],
            remedy=Remedy(
                advice=f"an experiment: unset {' and '.join(off)}; NCCL_DEBUG=INFO names the way in use",
                caution="on some machines it is set because the direct way hangs or is slower",
            ),
        )
        return
