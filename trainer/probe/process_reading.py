"""The rank's own process: memory, threads, and how often its threads lost their core."""

import os
import resource

from perftui.ipc.facts import ProcessFacts
from perftui.ipc.held_descriptor import HeldFile

_STATUS = HeldFile("/proc/self/status")
_STATUS_BYTES = 16384
"""More than what stands before the memory: the groups of a user may be many."""
_OTHER_LINKS = 2
"""That the folder of threads has beside one a thread: no descriptor is needed to count them."""


def read_process() -> tuple[ProcessFacts | None, str | None]:
    """Return what the kernel says of this process, or None with the reason."""
    try:
        status = _STATUS.read(_STATUS_BYTES)
        rss_mib, file_mib = memory_in(status, b"VmRSS"), memory_in(status, b"RssFile")
        threads = os.stat("/proc/self/task").st_nlink - _OTHER_LINKS  # noqa: PTH116 pathlib costs more
    except (OSError, IndexError, ValueError) as error:
        return None, f"/proc/self cannot be read: {error}"
    if rss_mib is None:
        return None, "/proc/self/status has no VmRSS"
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return ProcessFacts(
        rss_mib=rss_mib,
        file_mib=file_mib,
        threads=threads,
        voluntary_switches=usage.ru_nvcsw,
        involuntary_switches=usage.ru_nivcsw,
    ), None


def memory_in(status: bytes, name: bytes) -> float | None:
    """Return one amount of `/proc/PID/status` in MiB; None where this kernel does not tell it."""
    _, found, rest = status.partition(b"\n" + name + b":")
    return round(int(rest.split(maxsplit=1)[0]) / 1024, 1) if found else None
