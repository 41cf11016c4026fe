"""How much of a host's cores others' work takes away: times on a busy host say little about the run."""

from dataclasses import dataclass

from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.signals import HostSignals

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
