"""`input.workers` behind a thread: it takes batches from a loader ahead, and the training waits for it."""

import re

from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.messages import LoaderFacts
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import main_place, number, percent, step
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.wait_remedy import semantics_of_workers, setting_name
from perftui.trainer.tuning.predictor import propose_workers

_WAITING = re.compile(r"\.(?:get|wait|acquire|join|recv|popleft|pop)\(|\bnext\(")
"""In a line of Python: it may take what another thread has made ready."""


def starved_behind_a_thread(case: Case, rank: RankSignals, cost: float) -> Finding | None:
    """Judge a training thread that idles before the backward while another thread reads a loader for it.

    Args:
        case: the run.
        rank: known to idle so.
        cost: share of the step.
    """
    facts, place = rank.read_ahead, main_place(rank.facts.stacks, case.policy.place_share, "script")
    if facts is None:
        return None
    # On a busy host a thread that wants to compute looks idle as well, unless its line says that it waits.
    if case.strongly_contended(rank.host) and not (place and _WAITING.search(place.line or "")):
        return None
    at = "" if place is None else f" (at {place.at})"
    host = case.host(rank)
    enough = rank.window_steps >= case.policy.steps_critical
    return Finding(
        code="input.workers",
        severity="critical" if cost >= case.policy.wait_critical and enough else "warning",
        share=min(1.0, cost),
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        host=rank.host,
        sentence=f"The training waits {percent(cost)} of each step{at} for batches that another thread takes "
        f"from a DataLoader {_whose(facts)}.",
        evidence=[
            number("wait in lines of the script's own", cost, "share", rank.window_steps),
            *(
                []
                if rank.cpu_share is None
                else [number("CPU of the training thread", rank.cpu_share, "cores", rank.window_steps)]
            ),
            step(rank),
            number("loader workers", facts.num_workers, ""),
            *([] if host is None or host.cpus is None else [number("usable cores", host.cpus, "cores")]),
        ],
        remedy=_remedy(case, rank, facts, cost),
    )


def _whose(facts: LoaderFacts) -> str:
    if not facts.num_workers:
        return "without workers: it prepares every sample itself, and Python runs one thread at a time"
    whose = "one worker prepares" if facts.num_workers == 1 else f"{facts.num_workers} workers prepare"
    return f"whose {whose} them more slowly than the model takes them"


def _remedy(case: Case, rank: RankSignals, facts: LoaderFacts, cost: float) -> Remedy:
    host = case.host(rank)
    bound = round(1 / (1 - min(cost, 0.99)), 2)
    dearer = "make each sample cheaper to prepare; the thread that reads ahead does not add a core"
    if host is None or host.cpus is None or (facts.iterable and facts.sharded is not True):
        return Remedy(bound=bound, advice=dearer)
    proposal = propose_workers(
        rank.step_ms.mean,
        cost,
        facts.num_workers,
        host.cpus,
        case.ranks_on(rank.host),
        rank.cpu_share,
        host.run_busy,
        on_gpu=rank.device != "cpu",
    )
    if proposal is None:
        return Remedy(bound=bound, advice=dearer)
    return Remedy(
        set={setting_name(facts): proposal.num_workers},
        bound=bound,
        expected=round(min(proposal.expected, bound), 2),
        advice="the thread that reads ahead is needless beside workers, which prefetch by themselves",
        semantics=semantics_of_workers(facts),
        caution="the samples and their order stay, random augmentations draw another stream of numbers"
        if not facts.iterable
        else "each worker has a part of the stream: the samples come in another order",
    )
