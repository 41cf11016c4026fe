"""A few facts of this host that decide how a training goes: CPUs one may really use, memory, limits, GPUs.

Cheap enough to be read before every launch: no library, no driver call.
"""

import os
import re
import resource
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_NVIDIA = Path("/proc/driver/nvidia")


def effective_cpus() -> float:
    """Return how many CPUs this process may use: affinity and the tightest cgroup quota above it."""
    return min([float(len(os.sched_getaffinity(0))), *_quotas()])


def _quotas() -> list[float]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found: list[float] = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            folders = _upwards(_GROUPS, group)
            found += [quota for folder in folders if (quota := _quota_v2(folder)) is not None]
        elif "cpu" in controllers.split(","):
            folders = _upwards(_GROUPS / "cpu", group)
            found += [quota for folder in folders if (quota := _quota_v1(folder)) is not None]
    return found


def _upwards(root: Path, group: str) -> list[Path]:
    inside = root / group.lstrip("/")
    return [inside, *(parent for parent in inside.parents if parent == root or root in parent.parents)]


def _quota_v2(folder: Path) -> float | None:
    words = _read(folder / "cpu.max").split()
    if len(words) != 2 or words[0] == "max":
        return None
    return int(words[0]) / int(words[1])


def _quota_v1(folder: Path) -> float | None:
    quota, period = _read(folder / "cpu.cfs_quota_us").strip(), _read(folder / "cpu.cfs_period_us").strip()
    if not quota or not period or int(quota) <= 0:
        return None
    return int(quota) / int(period)


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
