"""The training waits for its loader: one finding for each group of ranks that starve together.

The code says why they wait: too few workers, or, where more cannot help, what the workers are kept by. Waits
at the head of epochs and of a cold first epoch are findings of their own (`epoch_waits`).
"""

from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple

from perftui.ipc.findings import Evidence, Finding, Severity
from perftui.trainer.diagnosis.batch_costs import collating_timed
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, percent, step
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Abstention, steady_wait, wait_ms, won_share
from perftui.trainer.diagnosis.rules.epoch_waits import only_cold, only_epoch_starts
from perftui.trainer.diagnosis.rules.straggler_input import find_straggler, in_step
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.wait_cause import WaitCause, cause_of
from perftui.trainer.diagnosis.wait_remedy import Answer, answer_to
from perftui.trainer.diagnosis.worker_time import made_in_time, making_share


class Starved(NamedTuple):
    """Ranks that starve together; `rank` is None when they are the whole run."""

    ranks: tuple[RankSignals, ...]
    rank: int | None
    share: float
    won: float
    """Of that, what workers could save; all of it where there are some."""

    @property
    def worst(self) -> RankSignals:
        """The rank that waits longest; it stands for the others."""
        return max(self.ranks, key=wait_ms)


def starvation(case: Case) -> Iterator[Finding | Abstention]:
    """Judge who waits for data, and why."""
    yield from case.ready.abstained
    for starved in find_starved(case):
        cause = cause_of(case, starved.worst)
        code, answer = answer_to(case, starved.worst, cause)
        straggler = find_straggler(case.ready.judged, case.policy)
        if straggler is not None:  # the setting is offered with the straggler, and applies to all ranks
            code, answer = "input.workers", Answer(None)
        yield _finding(case, starved, code, cause, answer)


def find_starved(case: Case) -> list[Starved]:
    """Return who starves all the time; beyond a straggler's own excess, where there is one."""
    straggler = find_straggler(case.ready.judged, case.policy)
    ranks = case.ready.judged if straggler is None else straggler.fed
    ranks = tuple(r for r in ranks if not only_epoch_starts(case, r) and not only_cold(case, r))
    if not ranks:
        return []
    together = straggler is not None or len(ranks) == 1 or in_step(ranks, case.policy)
    complete = case.ready.complete and (straggler is not None or len(ranks) == len(case.ready.judged))
    groups = [ranks] if together else [(rank,) for rank in ranks]
    found: list[Starved] = []
    for group in groups:
        share = fmean(steady_wait(rank) for rank in group)
        won = fmean(won_share(rank, case.policy) for rank in group)
        if won >= case.policy.wait_warning or share >= case.policy.wait_critical:
            worst = max(group, key=wait_ms)
            whole = complete and len(group) == len(ranks)
            found.append(Starved(group, None if whole else worst.rank, share, won))
    return sorted(found, key=lambda starved: -starved.share)


def _finding(case: Case, starved: Starved, code: str, cause: WaitCause, answer: Answer) -> Finding:
    worst = starved.worst
    hosts = {rank.host for rank in starved.ranks}
    return Finding(
        code=code,
        severity=_severity(starved, cause, case.policy),
        share=starved.share,
        rank=starved.rank,
        host=worst.host if starved.rank is not None or len(hosts) == 1 else None,
        sentence=_sentence(starved, code, cause, case.policy),
        evidence=_evidence(case, starved, cause),
        coverage=min(rank.coverage for rank in starved.ranks),
        remedy=answer.remedy,
        unsure=answer.unsure,
    )


def _severity(starved: Starved, cause: WaitCause, policy: Policy) -> Severity:
    if starved.won < policy.wait_warning:
        return "info"
    steps = min(rank.window_steps for rank in starved.ranks)
    experiment = cause.cause == "needless"
    if experiment or starved.won < policy.wait_critical or steps < policy.steps_critical:
        return "warning"
    return "critical"


def _sentence(starved: Starved, code: str, cause: WaitCause, policy: Policy) -> str:
    who = "The training" if starved.rank is None else f"Rank {starved.rank}"
    if len(starved.ranks) > 1:
        who = "Each rank"
    head = f"{who} waits {percent(starved.share)} of each step for its loader"
    facts = starved.worst.loader
    if starved.won < policy.wait_warning:
        return (
            f"{head}, but that is only {wait_ms(starved.worst):.1f} ms: a worker process would take about as "
            "long to hand a batch over."
        )
    if facts is None:
        return f"{head}."
    if code == "input.one_slow_worker":
        return f"{head}, nearly always for worker {cause.slow_worker}; the others' batches are there in time."
    why = f"; {cause.why}" if cause.why else ""
    if facts.num_workers == 0:
        alone = "which has no workers: the training thread itself reads and prepares every sample"
        return f"{head}, {alone}{why}."
    workers = "its one worker prepares" if facts.num_workers == 1 else f"{facts.num_workers} workers prepare"
    if code == "input.too_many_workers" or made_in_time(starved.worst, policy):
        return f"{head} although {workers} batches{why}."
    return f"{head}: {workers} batches more slowly than the model takes them{why}."


def _evidence(case: Case, starved: Starved, cause: WaitCause) -> list[Evidence]:
    worst, steps = starved.worst, starved.worst.window_steps
    host, seen = case.host(worst), worst.workers
    shown = [
        number("loader wait", starved.share, "share", steps),
        number("loader wait", wait_ms(worst), "ms", steps),
        step(worst),
    ]
    if worst.loader is not None:
        shown.append(number("loader workers", worst.loader.num_workers, "", steps))
    if host is not None and host.cpus is not None:
        shown.append(number("usable cores", host.cpus, "cores"))
    if seen is not None and seen.cpu_share is not None:
        shown.append(number("CPU of each worker", seen.cpu_share, "cores"))
    putting = collating_timed(worst)
    if putting is not None:
        shown.append(number("time for batches spent on collating", putting, "share"))
    making = making_share(worst, case.policy)
    if making is not None:
        shown.append(number("time of each worker spent on batches", min(1.0, making), "share"))
    if cause.cause == "storage":
        shown += _storage_evidence(case, worst)
    if cause.slow_worker is not None:
        waits = worst.patterns.worker_wait_ms
        others = [wait for worker, wait in waits.items() if worker != cause.slow_worker]
        if others and cause.slow_worker in waits:
            mine = waits[cause.slow_worker]
            shown.append(number(f"wait for worker {cause.slow_worker}", mine, "ms", steps))
            shown.append(number("wait for the others", fmean(others), "ms", steps))
    return shown


def _storage_evidence(case: Case, rank: RankSignals) -> list[Evidence]:
    host, seen = case.host(rank), rank.workers
    figures = {
        ("workers held up by storage", "share"): seen and seen.blocked_share,
        ("storage delivers", "MiB/s"): host and host.run_storage_read_mib_s,
        ("tasks waited for storage", "share"): host and host.pressure_io and host.pressure_io.some,
        ("one disk read takes", "ms"): host and host.disk_read_ms,
    }
    return [number(name, value, unit) for (name, unit), value in figures.items() if value]
