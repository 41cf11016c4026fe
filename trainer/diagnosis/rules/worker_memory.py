"""`memory.host_growth` of loader workers, each of which is a process with memory of its own.

A forked worker begins with all of its rank's memory, shared page by page until one of them writes. Looking at
a Python object writes its count of references: so lists and dictionaries of a dataset are copied, bit by bit,
in each worker. Then what a worker has to itself grows, and what it sees does not.
"""

from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number
from perftui.trainer.diagnosis.signals import RankSignals, WorkerGrowth


def workers_growing(case: Case) -> Finding | None:
    """Judge what the workers of a rank have to themselves, by one of them; the first rank stands for all."""
    policy = case.policy
    for rank in case.ranks:
        growth, workers = rank.worker_growth, rank.workers
        if growth is None or workers is None or not workers.count or growth.seconds < policy.growth_s:
            continue
        if growth.rise is None or growth.rise < policy.growth_steady:
            continue
        together = growth.private_mib * workers.count
        if together >= policy.growth_mib and together * 60 / growth.seconds >= policy.growth_per_min_mib:
            return _finding(case, rank, growth, workers.count)
    return None


def _finding(case: Case, rank: RankSignals, growth: WorkerGrowth, count: int) -> Finding:
    copied = growth.rss_mib < growth.private_mib / 2
    why = (
        "it copies the dataset's Python objects page by page, since each look at one writes its count of "
        "references"
        if copied
        else "something of each sample is kept in it"
    )
    return Finding(
        code="memory.host_growth",
        severity="warning",
        share=0.0,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        host=rank.host,
        sentence=f"Each loader worker's own memory grew by about {growth.private_mib:,.0f} MiB in "
        f"{growth.seconds:.0f} s and goes on: {why}.",
        evidence=[
            number("own memory of a worker grew by", growth.private_mib, "MiB"),
            number("within", growth.seconds, "s"),
            number("all that it sees grew by", growth.rss_mib, "MiB"),
            number("loader workers", count, ""),
            number("all of them, about", growth.private_mib * count, "MiB"),
        ],
        remedy=Remedy(
            advice="hold the samples in arrays (NumPy, torch, pyarrow) or on disk instead of lists, "
            "dictionaries and strings; until then fewer workers"
            if copied
            else "look for what the dataset keeps from sample to sample: a cache, a list, open files"
        ),
    )
