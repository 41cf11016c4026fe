"""`self.*`: what speaks of the measuring itself: a busy host, our own cost, steps that were dropped."""

from collections.abc import Iterator

from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.contention import Contention
from perftui.trainer.diagnosis.evidence import number, percent, step
from perftui.trainer.diagnosis.readiness import Abstention


def contended(case: Case) -> Iterator[Finding | Abstention]:
    """Judge every host."""
    for found in case.contended:
        yield _contended(found)


def _contended(found: Contention) -> Finding:
    """Return the finding. What it costs a step cannot be told, so its share is 0."""
    host = found.host
    shown = [
        number("cores busy with other work", found.others, "cores"),
        number("usable cores", host.cpus or 0.0, "cores"),
    ]
    if host.pressure_share is not None:
        shown.append(number("tasks waited for a CPU", host.pressure_share, "share"))
    doubt = "step times here say little about the run" if found.strong else "times are less steady for it"
    return Finding(
        code="self.contended",
        severity="warning" if found.strong else "info",
        share=0.0,
        host=host.name,
        sentence=f"Other work keeps {found.others:.1f} cores of {host.name} busy; {doubt}.",
        evidence=shown,
        remedy=Remedy(advice="stop the other work, or measure when the host is quiet")
        if found.strong
        else None,
    )


def overhead(case: Case) -> Iterator[Finding | Abstention]:
    """Judge what our own hooks cost; the worst rank stands for all."""
    measured = [(rank.hook_share, rank) for rank in case.ranks if rank.hook_share is not None]
    cost, rank = max(measured, key=lambda pair: pair[0], default=(0.0, None))
    if rank is None or cost < case.policy.overhead_info:
        return
    if case.strongly_contended(rank.host):
        reason = "the host is busy: the clock in the hooks ran on while others had the core"
        yield Abstention("self.overhead", reason, "a quiet host")
        return
    yield Finding(
        code="self.overhead",
        severity="warning" if cost >= case.policy.overhead_warning else "info",
        share=min(1.0, cost),
        sentence=f"perftui's own hooks take {percent(cost)} of a step of {rank.step_ms.mean:.3g} ms.",
        evidence=[number("time in perftui's hooks", cost, "share", rank.window_steps), step(rank)],
        remedy=Remedy(advice="compare with a run without perftui before trusting differences this small"),
    )


def dropped(case: Case) -> Iterator[Finding | Abstention]:
    """Judge how many steps never arrived."""
    for rank in case.ranks:
        total = rank.dropped + rank.patterns.run_steps
        if rank.dropped and rank.dropped >= case.policy.dropped_share * total:
            were = "was" if rank.dropped == 1 else "were"
            yield Finding(
                code="self.dropped",
                severity="info",
                share=0.0,
                rank=rank.rank if len(case.signals.ranks) > 1 else None,
                sentence=f"Of {total} steps {rank.dropped} {were} dropped before they could be counted: the "
                "figures rest on the others.",
                evidence=[number("steps dropped", rank.dropped, ""), number("steps", total, "")],
                coverage=1 - rank.dropped / total,
            )
