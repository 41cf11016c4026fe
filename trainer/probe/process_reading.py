"""The rank's own process: memory, threads, and how often its threads lost their core."""

import os
import resource

from perftui.ipc.facts import ProcessFacts
from perftui.ipc.held_descriptor import HeldFile

_STATM = HeldFile("/proc/self/statm")
_STATM_BYTES = 256
_OTHER_LINKS = 2
"""That the folder of threads has beside one a thread: no descriptor is needed to count them."""
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20


def read_process() -> tuple[ProcessFacts | None, str | None]:
    """Return what the kernel says of this process, or None with the reason."""
    try:
        resident = int(_STATM.read(_STATM_BYTES).split()[1])
        threads = os.stat("/proc/self/task").st_nlink - _OTHER_LINKS  # noqa: PTH116 pathlib costs more
    except (OSError, IndexError, ValueError) as error:
        return None, f"/proc/self cannot be read: {error}"
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return ProcessFacts(
        rss_mib=round(resident * _PAGE_MIB, 1),
        threads=threads,
        voluntary_switches=usage.ru_nvcsw,
        involuntary_switches=usage.ru_nivcsw,
    ), None
