"""`scaling.*`: what to mind when one rank becomes many."""

from collections.abc import Iterator

from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, percent
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.exchange import exchange_share, least_cost
from perftui.trainer.diagnosis.rules.uneven import uneven_ms


def small_per_rank_batch(case: Case) -> Iterator[Finding | Abstention]:
    """Judge batches so small on each rank that the exchange of gradients outweighs them."""
    policy = case.policy
    if case.signals.world_size < 2 or not case.ranks:
        return
    found = exchange_share(case)
    if found is None:
        return
    cost, rank = found
    uneven = uneven_ms(case)
    if uneven is not None and rank.step_ms.mean:
        cost = max(0.0, cost - uneven / rank.step_ms.mean)  # spent waiting for the last, not on the exchange
    if cost < least_cost(case, rank)[1]:
        return
    batch = rank.loader.batch_size if rank.loader is not None else None
    samples = batch if batch is not None else rank.patterns.samples
    if samples is None or samples >= policy.small_batch_gpu:
        return
    yield Finding(
        code="scaling.small_per_rank_batch",
        severity="warning",
        share=cost,
        sentence=f"Each rank computes on {samples:g} samples and then waits {percent(cost)} of the step "
        "for the "
        "exchange: too little work for each exchange.",
        evidence=[
            number("samples a rank", samples, "", rank.window_steps),
            number("exposed communication", cost, "share", rank.window_steps),
            number("ranks", case.signals.world_size, ""),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2),
            advice="larger batches a rank, gradients accumulated under no_sync, or fewer ranks: below "
            "about 16 "
            "samples a rank several GPUs may lose to one",
            semantics="changes-training",
            caution="the global batch grows with it, and the learning rate has to follow",
        ),
    )


def unjudged(case: Case) -> Iterator[Finding | Abstention]:
    """Say what one run alone does not tell."""
    if case.signals.world_size < 2:
        return
    yield Abstention(
        "scaling.efficiency", "one run does not tell what a single rank would do", "a run on one rank"
    )
    yield Abstention(
        "scaling.learning_rate",
        "whether the learning rate was chosen for this global batch is not to be seen",
        "the global batch for which it was chosen",
    )
