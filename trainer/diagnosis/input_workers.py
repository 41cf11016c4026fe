"""`input.workers`: the training waits for its loader, because too few processes prepare batches."""

from statistics import fmean
from typing import NamedTuple

from perftui.ipc.findings import Evidence, Finding, Severity
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import steady_wait, wait_ms
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals
from perftui.trainer.diagnosis.workers_remedy import Answer

CODE = "input.workers"


class Starved(NamedTuple):
    """Ranks that starve together; `rank` is None when they are the whole run."""

    ranks: tuple[RankSignals, ...]
    rank: int | None
    share: float

    @property
    def worst(self) -> RankSignals:
        """The rank that waits longest; it stands for the others."""
        return max(self.ranks, key=wait_ms)


def find_starved(
    ranks: tuple[RankSignals, ...], policy: Policy, *, together: bool, complete: bool
) -> list[Starved]:
    """Return who starves.

    Args:
        ranks: the ranks that can be judged.
        policy: thresholds.
        together: they keep step, or there is only one: they are judged as one.
        complete: they are all ranks of the run.
    """
    if not ranks:
        return []
    groups = [ranks] if together else [(rank,) for rank in ranks]
    found: list[Starved] = []
    for group in groups:
        share = fmean(steady_wait(rank) for rank in group)
        whole = complete and len(group) == len(ranks)
        if share >= policy.wait_warning:
            worst = max(group, key=wait_ms)
            found.append(Starved(group, None if whole else worst.rank, share))
    return sorted(found, key=lambda starved: -starved.share)


def input_workers(
    starved: Starved, host: HostSignals | None, answer: Answer, policy: Policy, *, contended: bool
) -> Finding:
    """Return the finding; a contended host lowers its severity where workers exist and may be held up."""
    worst = starved.worst
    hosts = {rank.host for rank in starved.ranks}
    return Finding(
        code=CODE,
        severity=_severity(starved, policy, contended=contended),
        share=starved.share,
        rank=starved.rank,
        host=worst.host if starved.rank is not None or len(hosts) == 1 else None,
        sentence=_sentence(starved, policy),
        evidence=_evidence(starved, host),
        coverage=min(rank.coverage for rank in starved.ranks),
        remedy=answer.remedy,
        unsure=answer.unsure,
    )


def _severity(starved: Starved, policy: Policy, *, contended: bool) -> Severity:
    if wait_ms(starved.worst) < policy.wait_floor_ms:
        return "info"
    steps = min(rank.window_steps for rank in starved.ranks)
    if starved.share < policy.wait_critical or steps < policy.steps_critical or contended:
        return "warning"
    return "critical"


def _sentence(starved: Starved, policy: Policy) -> str:
    who = "The training" if starved.rank is None else f"Rank {starved.rank}"
    if len(starved.ranks) > 1:
        who = "Each rank"
    head = f"{who} waits {100 * starved.share:.0f} % of each step for its loader"
    facts = starved.worst.loader
    if wait_ms(starved.worst) < policy.wait_floor_ms:
        return (
            f"{head}, but that is only {wait_ms(starved.worst):.1f} ms: a worker process would take about as "
            "long to hand a batch over."
        )
    if facts is None:
        return f"{head}."
    if facts.num_workers == 0:
        return f"{head}, which has no workers: the training thread itself reads and prepares every sample."
    workers = "its one worker prepares" if facts.num_workers == 1 else f"{facts.num_workers} workers prepare"
    return f"{head}: {workers} batches more slowly than the model takes them."


def _evidence(starved: Starved, host: HostSignals | None) -> list[Evidence]:
    worst = starved.worst
    steps = worst.window_steps
    shown = [
        Evidence(name="loader wait", value=starved.share, unit="share", window_steps=steps),
        Evidence(name="loader wait", value=wait_ms(worst), unit="ms", window_steps=steps),
        Evidence(name="step", value=worst.step_ms.mean, unit="ms", window_steps=steps),
    ]
    if worst.loader is not None:
        value = float(worst.loader.num_workers)
        shown.append(Evidence(name="loader workers", value=value, unit="", window_steps=steps))
    if host is not None and host.cpus is not None:
        shown.append(Evidence(name="usable cores", value=host.cpus, unit="cores", window_steps=0))
    return shown
