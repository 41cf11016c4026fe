"""One judgement: every rule over one window, in the order to deal with what they say.

Causes stand before consequences, and the first finding leads. What speaks against one another is never
judged side by side.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from perftui.ipc.findings import Finding, Severity
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.contention import UNSURE
from perftui.trainer.diagnosis.in_parts import Parts, at_once
from perftui.trainer.diagnosis.policy import POLICY, Policy
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.registry import (
    ASIDE,
    CAUSES,
    ENDING,
    FIRST,
    HEALTHY,
    IN_DOUBT,
    ONLY_WHERE,
    RULES,
    Rule,
)
from perftui.trainer.diagnosis.signals import RankSignals, RunSignals

_WEIGHT: dict[Severity, int] = {"critical": 0, "warning": 1, "info": 2}


@dataclass(frozen=True)
class Judgement:
    """What was found, first things first, and what could not be judged."""

    findings: tuple[Finding, ...]
    abstained: tuple[Abstention, ...]


def judge(signals: RunSignals, policy: Policy = POLICY, rules: Iterable[Rule] = RULES) -> Judgement:
    """Return findings and abstentions over one window."""
    return at_once(judge_in_parts(signals, policy, rules))


def judge_in_parts(
    signals: RunSignals, policy: Policy = POLICY, rules: Iterable[Rule] = RULES
) -> Parts[Judgement]:
    """Do the same, and let others have a turn after each rule: with many ranks one takes milliseconds."""
    case = Case(signals, policy)
    judged: list[Finding | Abstention] = []
    for rule in rules:
        judged += rule.evaluate(case)
        yield
    found = [each for each in judged if isinstance(each, Finding)]
    abstained = tuple(each for each in judged if isinstance(each, Abstention))
    found = _hung(_without_healthy([_doubted(each, case) for each in found]), case)
    firm = _made_firm(found, case)
    return Judgement(tuple(sorted(found, key=lambda each: _place(each, case, firm))), abstained)


def _made_firm(found: list[Finding], case: Case) -> set[str]:
    """Return causes of what no other work explains: they are not in doubt either."""
    return {each.under for each in found if each.under is not None and not _shaken(each, case)}


def _without_healthy(found: list[Finding]) -> list[Finding]:
    """Call nothing healthy beside what is known to cost something."""
    costly = any(each.severity != "info" and not each.code.startswith("self.") for each in found)
    return [each for each in found if not (costly and each.code in HEALTHY)]


def _doubted(finding: Finding, case: Case) -> Finding:
    """Say so where a busy host might explain a finding, or at least its figures."""
    if finding.code.startswith("self.") or not _on_busy_host(finding, case):
        return finding
    if finding.code.startswith("input.") or _shaken(finding, case):
        finding = replace(finding, unsure=finding.unsure or UNSURE)
    if _shaken(finding, case) and finding.severity == "critical":
        finding = replace(finding, severity="warning")
    return finding


def _on_busy_host(finding: Finding, case: Case) -> bool:
    hosts = [finding.host] if finding.host is not None else [host.name for host in case.signals.hosts]
    return any(case.strongly_contended(host) for host in hosts)


def _shaken(finding: Finding, case: Case) -> bool:
    """Tell whether other work alone might explain a finding."""
    if finding.code not in IN_DOUBT or not _on_busy_host(finding, case):
        return False
    if not finding.code.startswith("input."):
        return finding.share < case.policy.straggler_sure
    about = [r for r in case.signals.ranks if finding.rank is None or r.rank == finding.rank]
    return any(_workers_held_up(r, case.policy) for r in about)


def _workers_held_up(rank: RankSignals, policy: Policy) -> bool:
    """Tell whether other work may keep a rank's workers from their cores, or the thread they work for.

    Without workers the wait is the training thread's own work: a busy host stretches it, and all the rest.
    Workers that idle may wait for a training thread without a core to take their batches over.
    """
    if rank.loader is None or rank.loader.num_workers == 0:
        return False
    seen = rank.workers
    if seen is None or seen.cpu_wait_share is None or seen.cpu_wait_share >= policy.worker_cpu_wait:
        return True
    return seen.cpu_share is not None and seen.cpu_share <= policy.worker_idle


def _hung(found: list[Finding], case: Case) -> list[Finding]:
    """Hang consequences under their causes.

    A cause is as severe as what follows from it, and costs as much where its own cost was not measured; a
    consequence offers no remedy.
    """
    for place, finding in enumerate(found):
        causes = [at for at, cause in enumerate(found) if _explains(cause, finding, case)]
        if not causes:
            continue
        at = min(causes, key=lambda at: (_WEIGHT[found[at].severity], -found[at].share, at))
        cause = found[at]
        worse = min(cause.severity, finding.severity, key=lambda severity: _WEIGHT[severity])
        found[at] = replace(cause, severity=worse, share=cause.share or finding.share)
        found[place] = replace(finding, under=cause.code, remedy=None, unsure=None)
    return found


def _explains(cause: Finding, finding: Finding, case: Case) -> bool:
    if cause.code not in CAUSES.get(finding.code, ()) or cause.under is not None:
        return False
    if cause.severity == "info" and finding.severity != "info":
        return False
    holds = ONLY_WHERE.get((finding.code, cause.code))
    if holds is not None and not holds(case, cause, finding):
        return False
    same_rank = cause.rank is None or finding.rank is None or cause.rank == finding.rank
    same_host = cause.host is None or finding.host is None or cause.host == finding.host
    return same_rank and same_host


def _place(finding: Finding, case: Case, firm: set[str]) -> tuple[object, ...]:
    """Return what to sort by: first the sure, then what a busy host puts in doubt, then mere remarks."""
    own = finding.code == "self.contended"
    minor = finding.severity == "info"
    doubtful = _shaken(finding, case) and finding.code not in firm
    aside = minor and finding.code.startswith(ASIDE)
    band = 4 if aside else 3 if minor else 1 if own else 2 if doubtful else 0
    return (
        band,
        finding.code in HEALTHY or finding.under in HEALTHY,
        _WEIGHT[finding.severity],
        not (finding.code in ENDING and finding.severity == "critical"),
        finding.under is not None,
        not finding.code.startswith(FIRST),
        -finding.share,
        finding.code,
        -1 if finding.rank is None else finding.rank,
        finding.host or "",
    )
