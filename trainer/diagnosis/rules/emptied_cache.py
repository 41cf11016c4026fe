"""`sync.each_step`, where it is `torch.cuda.empty_cache()`.

Giving memory back waits for the GPU, and asking for it anew waits again.
"""

from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.changed_results import OTHER_BATCH
from perftui.trainer.diagnosis.evidence import number, percent, step
from perftui.trainer.diagnosis.signals import RankSignals

_CALL = "empty_cache("


def cache_emptied(case: Case, rank: RankSignals) -> Finding | None:
    """Judge an allocator that gives memory back in each step although it never ran out of it."""
    policy, change, stacks = case.policy, rank.change, rank.facts.stacks
    if change is None or not change.device_frees or change.alloc_retries is None or change.steps <= 0:
        return None
    frees = change.device_frees / change.steps
    if frees < policy.frees_a_step or change.alloc_retries or not case.paced_by(rank, "host", "device"):
        return None
    places = [] if stacks is None else [place for place in stacks.places if _CALL in (place.line or "")]
    place = max(places, key=lambda each: each.count, default=None)
    if place is None and (change.steps < policy.frees_steps or _collects(rank)):
        return None
    looks = 0 if stacks is None else stacks.looks
    known = place is not None and looks >= policy.stack_looks
    cost = sum(each.count for each in places) / looks if known else 0.0
    where = "" if place is None else f" at {place.at}"
    return Finding(
        code="sync.each_step",
        severity="critical"
        if cost >= policy.sync_critical
        else "warning"
        if cost >= policy.sync_share or not known
        else "info",
        share=min(1.0, cost),
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"The allocator's cache is emptied{where} all the time: {frees:.0f} blocks a step go back "
        "to the driver and are asked for anew, and the host waits for the GPU meanwhile"
        + (f", {percent(cost)} of the time for giving back alone." if known else "."),
        evidence=[
            number("blocks given back a step", frees, "", change.steps),
            *([number("looks that found it giving back", cost, "share")] if known else []),
            number("times memory ran out", change.alloc_retries, "", change.steps),
            step(rank),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2) if known else None,
            advice="leave torch.cuda.empty_cache() out of the loop: a cached block is free to every tensor; "
            "against running out of memory a smaller batch helps, or "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            at=None if place is None else place.at,
            caution=OTHER_BATCH,
        ),
        unsure=None if place is not None else "which line calls torch.cuda.empty_cache() was not seen",
    )


def _collects(rank: RankSignals) -> bool:
    """Tell whether the allocator was told to give back what lies idle."""
    told = (rank.facts.environment or {}).items()
    return any("ALLOC_CONF" in name and "garbage_collection_threshold" in value for name, value in told)
