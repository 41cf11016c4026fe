"""`compute.bound`: the loader keeps up and the model sets the pace. "Nothing to fix" is an answer too."""

from collections.abc import Iterator
from statistics import fmean

from perftui.ipc.findings import Evidence, Finding
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import area_share, number, percent, share, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.starvation import find_starved
from perftui.trainer.diagnosis.rules.straggler_input import find_straggler
from perftui.trainer.diagnosis.signals import RankSignals

CODE = "compute.bound"
_OWN = ("script", "logging", "dataset", "collate")
_WINDOW = "a profile window shows what the rest of the step is spent on"
_NOT_SPEED = "A loss that falls slowly is a matter of learning, not of speed."


def compute_bound(case: Case) -> Iterator[Finding | Abstention]:
    """Judge a run of which every rank is fed: healthy as far as can be seen, or why that cannot be said."""
    ranks, signals = case.ready.judged, case.signals
    if not ranks:
        ranks = _without_loader(case)
    if not ranks or find_straggler(ranks, case.policy) is not None or find_starved(case):
        return
    if len(ranks) < max(signals.world_size, len(signals.ranks)):
        missing = max(signals.world_size, len(signals.ranks)) - len(ranks)
        yield Abstention(CODE, f"{missing} ranks cannot be judged yet", "their steps")
        return
    if any(found.strong for found in case.contended):
        yield Abstention(CODE, "the host is busy with other work", "a quiet host")
        return
    doubt = next((found for rank in ranks if (found := _doubt(case, rank)) is not None), None)
    yield doubt or _finding(ranks)


def _without_loader(case: Case) -> tuple[RankSignals, ...]:
    """Return ranks that use no DataLoader, where looks at the stack show that they prepare nothing."""
    return tuple(
        rank
        for rank in case.ranks
        if not rank.patterns.wait_known
        and rank.device == "cpu"
        and (own := area_share(rank.facts.stacks, case.policy.stack_looks, *_OWN)) is not None
        and own < case.policy.in_loop_python
    )


def _finding(ranks: tuple[RankSignals, ...]) -> Finding:
    first = ranks[0]
    wait = fmean(rank.shares.loader_wait or 0.0 for rank in ranks)
    fed = all(rank.patterns.wait_known for rank in ranks)
    others = [rank.shares.other for rank in ranks]
    other = fmean(share for share in others if share is not None) if None not in others else 0.0
    on_cpu = all(rank.device == "cpu" for rank in ranks)
    return Finding(
        code=CODE,
        severity="info",
        share=min(1.0, max(0.0, 1.0 - wait - other)) if fed else 1.0,
        host=first.host if len({rank.host for rank in ranks}) == 1 else None,
        sentence=_sentence(wait, on_cpu=on_cpu, fed=fed),
        evidence=_evidence(first, wait),
        coverage=min(rank.coverage for rank in ranks),
        unsure=None if on_cpu else "a profile window shows whether the GPU is busy or waits for the host",
    )


def _doubt(case: Case, rank: RankSignals) -> Abstention | None:
    policy = case.policy
    wait, other = rank.shares.loader_wait or 0.0, rank.shares.other
    if wait >= policy.wait_warning:
        reason = f"rank {rank.rank} waits {percent(wait)} of a step for data, at the start of epochs"
        return Abstention(CODE, reason, "longer epochs, or workers kept over epochs", rank.rank)
    if case.paces[rank.rank].confidence == "likely" and case.paces[rank.rank].pacer == "host":
        return Abstention(CODE, case.paces[rank.rank].why, _WINDOW, rank.rank)
    # On a GPU the host's "other" may be nothing but waiting for the GPU, as at `loss.item()`.
    if rank.device != "cpu":
        return None
    if other is not None and other >= policy.other_share and rank.patterns.wait_known:
        reason = f"{percent(other)} of the step of rank {rank.rank} is neither loading nor the model"
        return Abstention(CODE, reason, _WINDOW, rank.rank)
    script = area_share(rank.facts.stacks, policy.stack_looks, "script", "logging")
    felt = script is not None and script * rank.step_ms.mean >= policy.in_loop_ms
    if script is not None and felt and script >= policy.in_loop_python:
        reason = f"the thread of rank {rank.rank} was in the script's own lines in {percent(script)} of looks"
        return Abstention(CODE, reason, _WINDOW, rank.rank)
    host = case.host(rank)
    busy = None if host is None else host.run_busy
    idle = rank.cpu_share is not None and rank.cpu_share < policy.busy_thread
    if idle and (busy is None or busy < policy.busy_thread):
        reason = f"the training thread of rank {rank.rank} is idle for most of the step"
        return Abstention(CODE, reason, _WINDOW, rank.rank)
    return None


def _sentence(wait: float, *, on_cpu: bool, fed: bool) -> str:
    fed_by = f"The loader keeps up (wait {percent(wait)} of a step)"
    if not fed:
        fed_by = "Batches are at hand without a loader"
    if on_cpu:
        return f"{fed_by}: the processor is busy with the model itself, nothing to fix there. {_NOT_SPEED}"
    return (
        f"{fed_by}: the model on its GPU sets the pace, no setting of the loader changes that. {_NOT_SPEED}"
    )


def _evidence(rank: RankSignals, wait: float) -> list[Evidence]:
    phases = {
        "forward": rank.shares.forward,
        "backward": rank.shares.backward,
        "optimizer": rank.shares.optimizer,
    }
    shown = [share(rank, name, value) for name, value in phases.items() if value is not None]
    waited = [number("loader wait", wait, "share", rank.window_steps)] if rank.patterns.wait_known else []
    return [*waited, *shown, step(rank)]
