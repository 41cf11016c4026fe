"""A few facts of this host that decide how a training goes: shared memory, limits, GPUs.

Cheap enough to be read before every launch: no library, no driver call.
"""

import os
import re
import resource
from pathlib import Path

_NVIDIA = Path("/proc/driver/nvidia")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def shared_memory_bytes() -> tuple[int, int] | None:
    """Return (free, total) of /dev/shm, through which loader workers hand over tensors; None without one."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None
    return found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize


def open_files_limit() -> int:
    """Return the soft limit of open files."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def nvidia_gpu_names() -> list[str]:
    """Return the model of each NVIDIA GPU that the driver shows here; empty without a driver."""
    names: list[str] = []
    for path in sorted(_NVIDIA.glob("gpus/*/information")):
        found = re.search(r"^Model:\s*(.+?)\s*$", _read(path), re.MULTILINE)
        names.append(found[1] if found else "NVIDIA GPU")
    return names
