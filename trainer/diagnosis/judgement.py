"""One judgement: every rule over one window, in the order to deal with what they say.

Causes stand before consequences, and the first finding leads. What speaks against one another is never
judged side by side.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from perftui.ipc.findings import Finding
from perftui.trainer.diagnosis.compute_bound import compute_bound
from perftui.trainer.diagnosis.input_workers import Starved, find_starved, input_workers
from perftui.trainer.diagnosis.policy import POLICY, Policy
from perftui.trainer.diagnosis.readiness import Abstention, Readiness, readiness
from perftui.trainer.diagnosis.self_contended import UNSURE, Contention, find_contention, self_contended
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals, RunSignals
from perftui.trainer.diagnosis.straggler_input import Straggler, find_straggler, in_step, straggler_input
from perftui.trainer.diagnosis.workers_remedy import Answer, workers_remedy


@dataclass(frozen=True)
class Judgement:
    """What was found, first things first, and what could not be judged."""

    findings: tuple[Finding, ...]
    abstained: tuple[Abstention, ...]


def diagnose(signals: RunSignals, policy: Policy = POLICY) -> list[Finding]:
    """Return the findings over one window, first things first."""
    return list(judge(signals, policy).findings)


def judge(signals: RunSignals, policy: Policy = POLICY) -> Judgement:
    """Return findings and abstentions over one window."""
    ready = readiness(signals, policy)
    contended = [found for host in signals.hosts if (found := find_contention(host, policy)) is not None]
    straggler = find_straggler(ready.judged, policy)
    firm: list[Finding] = []
    if straggler is not None:
        firm.append(straggler_input(straggler, _answer(straggler.worst, signals, policy), policy))
    starved = _starved(ready, straggler, policy)
    judged = [_input_finding(group, signals, straggler, contended, policy) for group in starved]
    firm.extend(finding for finding, shaken in judged if not shaken and finding.severity != "info")
    doubted = [finding for finding, shaken in judged if shaken and finding.severity != "info"]
    minor = [finding for finding, _ in judged if finding.severity == "info"]
    abstained = list(ready.abstained)
    if straggler is None and not starved:
        healthy = _healthy(ready, signals, contended, policy)
        minor.extend([healthy] if isinstance(healthy, Finding) else [])
        abstained.extend([healthy] if isinstance(healthy, Abstention) else [])
    strong = [self_contended(found) for found in contended if found.strong]
    slight = [self_contended(found) for found in contended if not found.strong]
    return Judgement((*firm, *strong, *doubted, *minor, *slight), tuple(abstained))


def _starved(ready: Readiness, straggler: Straggler | None, policy: Policy) -> list[Starved]:
    if straggler is not None:
        # Beyond the straggler's own excess, do the ranks that it holds up starve as well?
        return find_starved(straggler.fed, policy, together=True, complete=ready.complete)
    together = len(ready.judged) == 1 or in_step(ready.judged, policy)
    return find_starved(ready.judged, policy, together=together, complete=ready.complete)


def _input_finding(
    group: Starved,
    signals: RunSignals,
    straggler: Straggler | None,
    contended: list[Contention],
    policy: Policy,
) -> tuple[Finding, bool]:
    """Return the finding, and whether a busy host alone might explain it."""
    worst = group.worst
    busy = any(found.strong and found.host.name == worst.host for found in contended)
    # Without workers the wait is the training thread's own work: a busy host stretches it, and all the rest.
    shaken = busy and worst.loader is not None and worst.loader.num_workers > 0
    answer = _answer(worst, signals, policy) if straggler is None else Answer(None)
    finding = input_workers(group, _host(worst, signals), answer, policy, contended=shaken)
    if busy:
        finding = replace(finding, unsure=finding.unsure or UNSURE)
    return finding, shaken


def _healthy(
    ready: Readiness, signals: RunSignals, contended: list[Contention], policy: Policy
) -> Finding | Abstention | None:
    if not ready.judged:
        return None
    if not ready.complete:
        missing = max(signals.world_size, len(signals.ranks)) - len(ready.judged)
        return Abstention("compute.bound", f"{missing} ranks cannot be judged yet", "their steps")
    if any(found.strong for found in contended):
        return Abstention("compute.bound", "the host is busy with other work", "a quiet host")
    return compute_bound(ready.judged, signals.hosts, policy)


def _answer(rank: RankSignals, signals: RunSignals, policy: Policy) -> Answer:
    on_host = sum(other.host == rank.host for other in signals.ranks)
    at_least = max(
        (other.loader.num_workers for other in signals.ranks if other.loader is not None), default=0
    )
    return workers_remedy(rank, _host(rank, signals), on_host, policy, at_least=at_least)


def _host(rank: RankSignals, signals: RunSignals) -> HostSignals | None:
    return next((host for host in signals.hosts if host.name == rank.host), None)
