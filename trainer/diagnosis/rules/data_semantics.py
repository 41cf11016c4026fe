"""`data.*`: runs that look fast and learn from the wrong data: doubled, in the same order, unsharded."""

import math
from collections.abc import Iterator, Sequence
from statistics import median

from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.loader_facts import SamplingFacts
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import RankSignals


def same_on_ranks(case: Case) -> Iterator[Finding | Abstention]:
    """Judge whether ranks that exchange gradients see the same batches: equal losses, or equal seeds.

    Losses tell only where they depend on the batch, and so jump from step to step: a loss that is nearly a
    function of the weights (behind a norm, a regulariser) is as smooth as they are, and equal on all ranks.
    """
    ranks = case.ranks
    if len(ranks) < 2 or len(ranks) < case.signals.world_size:
        return
    ddp = [None if rank.facts.parallel is None else rank.facts.parallel.ddp for rank in ranks]
    if not all(each is not None and (each.world_size or len(ranks)) == len(ranks) for each in ddp):
        return  # with fewer ranks in its group others belong together, as in tensor parallelism
    policy = case.policy
    compared = _compared([rank.losses for rank in ranks], policy)
    if (
        compared is not None
        and compared[0] >= policy.same_losses
        and compared[1] == compared[0]
        and compared[2]
    ):
        yield Finding(
            code="data.same_on_ranks",
            severity="critical",
            share=0.0,
            sentence=f"All {len(ranks)} ranks see the same batches: their losses were equal in all "
            f"{compared[0]} steps that were compared. {len(ranks)} ranks do the work of one.",
            evidence=[
                number("steps compared", compared[0], ""),
                number("steps with equal losses", compared[1], ""),
                number("ranks", len(ranks), ""),
            ],
            remedy=Remedy(
                advice="DistributedSampler(dataset) in the DataLoader (and sampler.set_epoch(epoch) "
                "before each "
                "epoch); or a seed that differs from rank to rank for a dataset that draws by chance",
                semantics="changes-training",
            ),
        )
        return
    seeds = {_sampling(rank).seed for rank in ranks if _sampling(rank).distributed}
    if len(seeds) > 1 and None not in seeds:
        yield Finding(
            code="data.same_on_ranks",
            severity="warning",
            share=0.0,
            sentence="The ranks' DistributedSamplers have different seeds: each deals another order, so some "
            "samples come on several ranks and others on none.",
            evidence=[number("different seeds", len(seeds), ""), number("ranks", len(ranks), "")],
            remedy=Remedy(advice="the same seed on all ranks", semantics="changes-training"),
        )
        return
    undealt = [rank for rank in ranks if rank.facts.sampling is not None and not _sampling(rank).distributed]
    if undealt and (compared is None or compared[0] < policy.same_losses):
        reason = "no DistributedSampler is in use, and too few losses were compared to tell what ranks see"
        yield Abstention("data.same_on_ranks", reason, "some more steps, or the indices of the samples")


def _compared(rows: Sequence[tuple[tuple[int, float], ...]], policy: Policy) -> tuple[int, int, bool] | None:
    """Return steps compared, steps at which all ranks agree, and whether losses depend on batches."""
    by_step = [dict(row) for row in rows]
    shared = sorted(set.intersection(*(set(each) for each in by_step))) if by_step else []
    values = [[each[step] for each in by_step] for step in shared]
    values = [row for row in values if all(map(math.isfinite, row))]
    if not values:
        return None
    tolerance = policy.same_loss_tolerance
    equal = sum(max(row) - min(row) <= tolerance * max(1e-12, abs(max(row))) for row in values)
    return len(values), equal, _jumps([row[0] for row in values], policy)


def _jumps(losses: Sequence[float], policy: Policy) -> bool:
    """Tell whether each loss is off the middle of its neighbours, by more than rounding or a trend."""
    size = median(map(abs, losses))
    off = [
        abs(now - (before + after) / 2)
        for before, now, after in zip(losses, losses[1:], losses[2:], strict=False)
    ]
    return bool(off) and size > 0 and median(off) >= policy.loss_jumps * size


def _sampling(rank: RankSignals) -> SamplingFacts:
    return rank.facts.sampling or SamplingFacts(loader=0, sampler="")


def same_order(case: Case) -> Iterator[Finding | Abstention]:
    """Judge a sampler that deals every epoch alike: by its epoch, by the seed, or by what it asks for."""
    for rank in case.signals.ranks:
        facts = rank.facts.sampling
        if facts is not None and (facts.epochs_alike or 0) >= case.policy.epochs_alike:
            yield _seeded_alike(case, rank, facts)
            return
        if facts is None:
            continue
        if not _set_epoch_missing(facts):
            found = _asked_alike(case, rank, facts)
            if found is not None:
                yield found
                return
            continue
        yield Finding(
            code="data.same_order",
            severity="warning",
            share=0.0,
            sentence=f"{facts.sampler} shuffles every epoch in the same order: set_epoch was not called in "
            f"{facts.epochs_begun} epochs.",
            evidence=[number("epochs begun", facts.epochs_begun, "")],
            remedy=Remedy(
                advice="sampler.set_epoch(epoch) before each epoch's loop",
                semantics="changes-training",
            ),
        )
        return


def _set_epoch_missing(facts: SamplingFacts) -> bool:
    return facts.distributed and bool(facts.shuffle) and facts.epochs_begun >= 2 and facts.set_epoch is False


def _asked_alike(case: Case, rank: RankSignals, facts: SamplingFacts) -> Finding | Abstention | None:
    """Judge the indices of the epochs' first batches; None: they differ, or are meant to be as they are.

    An order by length, by time or by difficulty comes the same in each epoch on purpose: it rises or falls,
    or nothing in the sampler's code draws by chance.
    """
    policy, alike = case.policy, facts.orders_alike or 0
    enough = facts.order_batches >= policy.order_batches and facts.order_samples >= policy.order_samples
    if alike < policy.epochs_in_order or not enough or facts.order_in_line or facts.shuffle is False:
        return None
    told = rank.rank if len(case.signals.ranks) > 1 else None
    own = facts.batch_sampler not in (None, "BatchSampler")
    sampler = facts.batch_sampler if own else facts.sampler
    if not (facts.shuffle or facts.draws):
        reason = f"the last {alike} epochs came in the same order, which may be meant so"
        return Abstention(
            "data.same_order", reason, "the code that makes the order, or the script's author", told
        )
    return Finding(
        code="data.same_order",
        severity="warning",
        share=0.0,
        rank=told,
        sentence=f"{sampler} deals every epoch in the same order: the last {alike} epochs asked for the same "
        f"samples in their first {facts.order_batches} batches.",
        evidence=[
            number("epochs in the same order", alike, ""),
            number("batches compared", facts.order_batches, ""),
            number("epochs begun", facts.epochs_begun, ""),
        ],
        remedy=Remedy(
            advice="draw the order anew in each epoch: in the sampler's __iter__ and not in its constructor, "
            "from a generator that goes on or from seed + epoch",
            semantics="changes-training",
        ),
        unsure=None if facts.shuffle else _MAY_BE_MEANT,
    )


def _seeded_alike(case: Case, rank: RankSignals, facts: SamplingFacts) -> Finding:
    return Finding(
        code="data.same_order",
        severity="warning",
        share=0.0,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"{facts.sampler} shuffles every epoch in the same order: the last {facts.epochs_alike} "
        "epochs began with the same random state.",
        evidence=[
            number("epochs with the same random state", facts.epochs_alike or 0, ""),
            number("epochs begun", facts.epochs_begun, ""),
        ],
        remedy=Remedy(
            advice="set the seed once, before the first epoch, or another one for each (seed + epoch)",
            semantics="changes-training",
        ),
    )


def iterable_duplicates(case: Case) -> Iterator[Finding | Abstention]:
    """Judge an IterableDataset that each worker reads as a whole."""
    for rank in case.signals.ranks:
        facts = rank.loader
        if facts is None or not facts.iterable or facts.num_workers < 2:
            continue
        if facts.sharded is None:
            reason = f"whether {facts.dataset} divides its data over {facts.num_workers} workers is not known"
            settled = "get_worker_info in its __iter__, or the number of samples of an epoch"
            yield Abstention("data.iterable_duplicates", reason, settled, rank.rank)
        elif not facts.sharded:
            yield Finding(
                code="data.iterable_duplicates",
                severity="warning",
                share=0.0,
                sentence=f"Each of {facts.num_workers} workers goes through all of {facts.dataset}: "
                "every sample "
                f"comes {facts.num_workers} times an epoch.",
                evidence=[number("loader workers", facts.num_workers, "")],
                remedy=Remedy(
                    advice="divide the data in __iter__ by torch.utils.data.get_worker_info(), and by rank",
                    semantics="changes-training",
                ),
            )
        return


_MAY_BE_MEANT = "the sampler's code draws by chance, but the order may be fixed on purpose"
