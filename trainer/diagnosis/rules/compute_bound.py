"""`compute.bound`: the loader keeps up and the model sets the pace. "Nothing to fix" is an answer too."""

from collections.abc import Iterator
from statistics import fmean

from perftui.ipc.findings import Evidence, Finding
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import area_share, number, percent, share, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.epoch_waits import only_cold, only_epoch_starts
from perftui.trainer.diagnosis.rules.exchange import exchange_share, least_cost
from perftui.trainer.diagnosis.rules.operators import main_operator, operator, operators_of
from perftui.trainer.diagnosis.rules.proportions import backward_ratio, long_by_design
from perftui.trainer.diagnosis.rules.starvation import find_starved
from perftui.trainer.diagnosis.rules.straggler_input import find_straggler
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.trusted import gpu_shares

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
    exchange = exchange_share(case)
    if exchange is not None and exchange[0] >= least_cost(case, exchange[1])[0]:
        reason = f"ranks wait {percent(exchange[0])} of a step for the exchange of gradients"
        yield Abstention(CODE, reason, _WINDOW)
        return
    if _is_odd(case):
        return
    doubt = next((found for rank in ranks if (found := _doubt(case, rank)) is not None), None)
    yield doubt or _finding(case, ranks)


def _is_odd(case: Case) -> bool:
    """Tell whether something of what the model computes could be left out, as far as can be seen.

    Then "nothing to fix" would be untrue, and the remark leads. What is so by design is no such thing.
    """
    if any(isinstance(each, Finding) for each in operator(case)):
        return True
    long = any(isinstance(each, Finding) for each in backward_ratio(case))
    return long and not all(long_by_design(case, rank) for rank in case.ranks)


def _without_loader(case: Case) -> tuple[RankSignals, ...]:
    """Return ranks that use no DataLoader and yet are fed.

    On a CPU looks at the stack show that they prepare nothing; a GPU that works all the time is fed anyhow.
    """
    return tuple(
        rank
        for rank in case.ranks
        if not rank.patterns.wait_known
        and (
            _computes(case, rank)
            if rank.device != "cpu"
            else (own := area_share(rank.facts.stacks, case.policy.stack_looks, *_OWN)) is not None
            and (own < case.policy.in_loop_python or own * rank.step_ms.mean < case.policy.wait_floor_ms)
        )
    )


def _computes(case: Case, rank: RankSignals) -> bool:
    """Tell whether a rank's GPU is known to compute nearly all the time."""
    if case.paces[rank.rank].pacer != "device":
        return False
    work = _work(case, rank)
    return work is not None and work[0] >= case.policy.gpu_computes


def _work(case: Case, rank: RankSignals) -> tuple[float, Evidence] | None:
    """Return the share of time in which a rank's GPU computes, and the evidence; None: not measured.

    In a window without copies and communication that nothing hides; by the counters all its engines' work,
    communication that was timed left out.
    """
    report, shares, gpu = rank.report, gpu_shares(rank.report), case.gpu(rank)
    if report is not None and shares is not None:
        busy = shares.compute_only + shares.overlap
        return busy, number("GPU computing", busy, "share", len(report.steps))
    if gpu is None or gpu.graphics_share is None or not gpu.window_steps:
        return None
    times = rank.device_ms
    exposed = 0.0
    if times is not None and times.step_ms > 0:
        exposed = ((times.comm_exposed_ms or 0.0) + (times.h2d_ms or 0.0)) / times.step_ms
    busy = max(0.0, gpu.graphics_share - exposed)
    return busy, number("GPU with work", busy, "share", gpu.window_steps)


def _finding(case: Case, ranks: tuple[RankSignals, ...]) -> Finding:
    first = ranks[0]
    wait = fmean(rank.shares.loader_wait or 0.0 for rank in ranks)
    fed = all(rank.patterns.wait_known for rank in ranks)
    on_cpu = all(rank.device == "cpu" for rank in ranks)
    work = (
        None if on_cpu else min(filter(None, (_work(case, rank) for rank in ranks)), default=None, key=_share)
    )
    shown = _evidence(first, wait)
    return Finding(
        code=CODE,
        severity="info",
        share=_model_share(ranks, wait, fed=fed) if work is None else min(1.0, work[0]),
        host=first.host if len({rank.host for rank in ranks}) == 1 else None,
        sentence=_sentence(
            wait, case.policy.wait_warning, on_cpu=on_cpu, fed=fed, work=None if work is None else work[0]
        ),
        evidence=shown if work is None else [work[1], *shown],
        coverage=min(rank.coverage for rank in ranks),
        unsure=_unsure(case, ranks, on_cpu=on_cpu),
    )


def _share(work: tuple[float, Evidence]) -> float:
    return work[0]


def _model_share(ranks: tuple[RankSignals, ...], wait: float, *, fed: bool) -> float:
    others = [rank.shares.other for rank in ranks]
    other = fmean(share for share in others if share is not None) if None not in others else 0.0
    return min(1.0, max(0.0, 1.0 - wait - other)) if fed else 1.0


def _unsure(case: Case, ranks: tuple[RankSignals, ...], *, on_cpu: bool) -> str | None:
    if on_cpu or all(gpu_shares(rank.report) is not None and _computes(case, rank) for rank in ranks):
        return None
    return "a profile window shows whether the GPU computes, copies, or waits for the host"


def _doubt(case: Case, rank: RankSignals) -> Abstention | None:
    policy = case.policy
    wait, other = rank.shares.loader_wait or 0.0, rank.shares.other
    if wait >= policy.wait_warning and not _too_short_to_win(case, rank):
        reason = f"rank {rank.rank} waits {percent(wait)} of a step for data, at the start of epochs"
        return Abstention(CODE, reason, "longer epochs, or workers kept over epochs", rank.rank)
    pace = case.paces[rank.rank]
    if rank.device != "cpu" and pace.pacer == "host" and pace.confidence != "open":
        return Abstention(CODE, pace.why, _WINDOW, rank.rank)
    work = None if rank.device == "cpu" else _work(case, rank)
    enough = policy.gpu_idle if gpu_shares(rank.report) is None else policy.gpu_computes
    if work is not None and work[0] < enough:
        reason = f"the GPU of rank {rank.rank} computes {percent(work[0])} of the time only"
        return Abstention(CODE, reason, _WINDOW, rank.rank)
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


def _too_short_to_win(case: Case, rank: RankSignals) -> bool:
    """Tell whether the wait is loading in the training thread that workers would not make shorter."""
    if rank.loader is None or rank.loader.num_workers:
        return False
    return not only_epoch_starts(case, rank) and not only_cold(case, rank)


def _sentence(wait: float, warning: float, *, on_cpu: bool, fed: bool, work: float | None) -> str:
    fed_by = f"The loader keeps up (wait {percent(wait)} of a step)"
    if wait >= warning:
        fed_by = f"Loading takes {percent(wait)} of a step, too little for worker processes to win"
    if not fed:
        fed_by = "Batches are at hand without a loader"
    if on_cpu:
        sets = "the processor is busy with the model itself, nothing to fix there"
        return f"{fed_by}: {sets}. {_NOT_SPEED}"
    if work is None:
        sets = "the model on its GPU sets the pace, no setting of the loader changes that"
        return f"{fed_by}: {sets}. {_NOT_SPEED}"
    sets = f"the GPU works {percent(work)} of the time: the model on it sets the pace"
    return f"{fed_by}, and {sets}. {_NOT_SPEED}"


def _evidence(rank: RankSignals, wait: float) -> list[Evidence]:
    phases = {
        "forward": rank.shares.forward,
        "backward": rank.shares.backward,
        "optimizer": rank.shares.optimizer,
    }
    shown = [share(rank, name, value) for name, value in phases.items() if value is not None]
    waited = [number("loader wait", wait, "share", rank.window_steps)] if rank.patterns.wait_known else []
    report = operators_of(rank)
    main = main_operator(report)
    if main is not None and report is not None:
        shown.append(number(f"of it in {main.name}, in a window", main.share, "share", len(report.steps)))
    return [*waited, *shown, step(rank)]
