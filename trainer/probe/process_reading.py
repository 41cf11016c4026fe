"""The rank's own process: memory, threads, and how often its threads lost their core."""

import os
import resource

from perftui.ipc.facts import ProcessFacts

_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20


def read_process() -> tuple[ProcessFacts | None, str | None]:
    """Return what the kernel says of this process, or None with the reason."""
    try:
        with open("/proc/self/statm", "rb") as stream:  # noqa: PTH123 pathlib costs three times the read
            resident = int(stream.read().split()[1])
        threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 the same
    except (OSError, IndexError, ValueError) as error:
        return None, f"/proc/self cannot be read: {error}"
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return ProcessFacts(
        rss_mib=round(resident * _PAGE_MIB, 1),
        threads=threads,
        voluntary_switches=usage.ru_nvcsw,
        involuntary_switches=usage.ru_nivcsw,
    ), None
