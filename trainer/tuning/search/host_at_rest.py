"""How busy the host is before anything is launched: what keeps it busy then is in the way of trials."""

import socket
import time

from perftui.trainer.telemetry.host import HostSampler, effective_cpus
from perftui.trainer.tuning.search.next_move import CROWDED_SHARE

_LOOK_S = 2.0


def crowd_words() -> str | None:
    """Return a warning where so much of the host is busy that a verdict is unlikely; None where it is not."""
    sampler = HostSampler(socket.gethostname())
    sampler.read({})
    time.sleep(_LOOK_S)
    busy, cpus = sampler.read({}).cpu_busy, effective_cpus()
    if busy is None or busy < CROWDED_SHARE * cpus:
        return None
    return (
        f"other work keeps {busy:.1f} of {cpus:g} cores busy at this moment: a verdict is unlikely as long "
        "as it does"
    )
