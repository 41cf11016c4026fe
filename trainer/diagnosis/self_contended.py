"""`self.contended`: the host is busy with others' work, so times on it say little about the run."""

from dataclasses import dataclass

from perftui.ipc.findings import Evidence, Finding, Remedy
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.signals import HostSignals

CODE = "self.contended"
UNSURE = "the host is busy with other work: judge again when it is quiet"


@dataclass(frozen=True)
class Contention:
    """What others take from a run on one host."""

    host: HostSignals
    others: float
    """Cores busy with others' work."""
    taken: float
    """Share of the cores usable by the run that others' work takes away."""
    strong: bool
    """So much that the other findings are in doubt."""


def find_contention(host: HostSignals, policy: Policy) -> Contention | None:
    """Return the contention; None when there is none, or when it was not measured.

    Other cores may be free: what counts is how many of ours cannot be had.
    """
    if host.cpus is None or host.cpus <= 0 or host.cpu_busy is None or host.run_busy is None:
        return None
    others = max(0.0, host.cpu_busy - host.run_busy)
    free = (host.cpus if host.cores is None else max(host.cores, host.cpus)) - others
    taken = min(1.0, max(0.0, host.cpus - free) / host.cpus)
    if taken < policy.contended_info:
        return None
    waiting = host.pressure_share is None or host.pressure_share >= policy.pressure
    return Contention(host, others, taken, taken >= policy.contended_warning and waiting)


def self_contended(found: Contention) -> Finding:
    """Return the finding. What it costs a step cannot be told, so its share is 0."""
    host = found.host
    shown = [
        Evidence(name="cores busy with other work", value=found.others, unit="cores", window_steps=0),
        Evidence(name="usable cores", value=host.cpus or 0.0, unit="cores", window_steps=0),
    ]
    if host.pressure_share is not None:
        shown.append(
            Evidence(name="tasks waited for a CPU", value=host.pressure_share, unit="share", window_steps=0)
        )
    doubt = "step times here say little about the run" if found.strong else "times are less steady for it"
    return Finding(
        code=CODE,
        severity="warning" if found.strong else "info",
        share=0.0,
        host=host.name,
        sentence=f"Other work keeps {found.others:.1f} cores of {host.name} busy; {doubt}.",
        evidence=shown,
        remedy=Remedy(advice="stop the other work, or measure when the host is quiet")
        if found.strong
        else None,
    )
