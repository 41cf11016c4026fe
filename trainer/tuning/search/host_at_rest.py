"""How busy the host is before anything is launched: what keeps it busy then is in the way of trials."""

import socket
import time

from perftui.ipc.crowded import crowded_words
from perftui.trainer.telemetry.host import HostSampler, effective_cpus

_LOOK_S = 2.0


def crowd_words() -> str | None:
    """Return a warning where so much of the host is busy that a verdict is unlikely; None where it is not."""
    sampler = HostSampler(socket.gethostname())
    sampler.read({})
    time.sleep(_LOOK_S)
    return crowded_words(sampler.read({}).cpu_busy, effective_cpus())
