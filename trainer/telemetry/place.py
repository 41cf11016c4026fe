"""Where the run lives on its host: the CPUs it may use, and the control groups it is in.

Looked up now and then: the list of mounts can be long, and little of this changes. Ranks may be confined more
than the hub is (`taskset`, `systemd-run`), so they are asked, not this process, once they are known.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from perftui.trainer.telemetry.cached_reads import uncounted_file_system
from perftui.trainer.telemetry.cgroups import Hierarchy, cpu_quotas, hierarchies, read_text
from perftui.trainer.telemetry.pressure import group_with_pressure

_AGAIN_S = 10.0


@dataclass(frozen=True)
class Place:
    """What confines the run."""

    cpus: frozenset[int]
    """Of all ranks' affinity masks together."""
    quota: float | None
    """The tightest CPU quota in cores; None without one."""
    limited: tuple[tuple[int, Path], ...]
    """Cgroup version and folder of each group with a CPU quota."""
    memory: tuple[Hierarchy, ...]
    pressure: Path | None
    """Folder of the group whose pressure is told; None: the host's."""
    uncounted: str | None
    """A file system whose reads may not be counted as storage reads, if one is mounted."""
    online: int | None = None
    """CPUs that the run's control groups leave it, of those of the host that are switched on."""
    given: int | None = None
    """CPUs of the mask that the run was started with: the hub's own, which has the launcher's."""
    gpus: int | None = None
    """GPUs that a kernel driver of NVIDIA or AMD knows."""

    @property
    def effective_cpus(self) -> float:
        """Cores that the run can really use."""
        allowed = float(len(self.cpus))
        return allowed if self.quota is None else min(allowed, self.quota)


def affinity_of(pid: int) -> frozenset[int] | None:
    """Return the CPUs that a process may use; None when it is gone."""
    try:
        return frozenset(os.sched_getaffinity(pid))
    except OSError:
        return None


class PlaceFinder:
    """Keeps the place for a while.

    Args:
        root: where /proc and /sys are looked for.
        affinity_of: the CPUs that a process may use.
    """

    def __init__(self, root: Path, affinity_of: Callable[[int], frozenset[int] | None]) -> None:
        self._root = root
        self._affinity_of = affinity_of
        self._found: tuple[tuple[int, ...], float, Place] | None = None

    def find(self, ranks: Sequence[int], now_s: float) -> Place:
        """Return the place of these ranks' processes; of the hub while there are none.

        The control groups are those of the first rank: ranks of one host share them, as a rule.
        """
        asked = tuple(ranks)
        if self._found is None or self._found[0] != asked or now_s - self._found[1] >= _AGAIN_S:
            self._found = asked, now_s, self._look(asked)
        return self._found[2]

    def _look(self, ranks: tuple[int, ...]) -> Place:
        masks = [mask for pid in ranks if (mask := self._affinity_of(pid))]
        process: int | str = ranks[0] if ranks else "self"
        if not (self._root / "proc" / str(process) / "cgroup").exists():  # it has ended
            process = "self"
        cpu = hierarchies("cpu", self._root, process)
        quotas = cpu_quotas(cpu)
        return Place(
            cpus=frozenset[int]().union(*masks) or frozenset(os.sched_getaffinity(0)),
            quota=min((quota for _, _, quota in quotas), default=None),
            limited=tuple((version, folder) for version, folder, _ in quotas),
            memory=tuple(hierarchies("memory", self._root, process)),
            pressure=group_with_pressure(next((each for each in cpu if each.version == 2), None)),
            uncounted=uncounted_file_system(read_text(self._root / "proc/self/mountinfo")),
            online=_allowed(self._root, hierarchies("cpuset", self._root, process)),
            given=len(os.sched_getaffinity(0)),
            gpus=_gpus(self._root),
        )


def _allowed(root: Path, groups: Sequence[Hierarchy]) -> int | None:
    """Return how many CPUs a process of these groups may use without a mask of its own."""
    counts = [_online(read_text(root / "sys/devices/system/cpu/online"))]
    for group in groups:
        name = "cpuset.cpus.effective" if group.version == 2 else "cpuset.effective_cpus"
        counts.append(next((n for folder in group.folders if (n := _online(read_text(folder / name)))), None))
    return min((count for count in counts if count), default=None)


def _online(text: str | None) -> int | None:
    """Return how many CPUs a list such as `0-3,8` names; None where it is none."""
    count = 0
    for part in (text or "").strip().split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            return None
        count += int(last or first) - int(first) + 1
    return count


def _gpus(root: Path) -> int | None:
    """Return how many GPUs the drivers know; None where the kernel does not show its devices."""
    if not (root / "sys/class").is_dir():
        return None
    nvidia = [*(root / "proc/driver/nvidia/gpus").glob("*")]
    amd = (read_text(path) for path in (root / "sys/class/kfd/kfd/topology/nodes").glob("*/gpu_id"))
    return len(nvidia) + sum((text or "0").strip() != "0" for text in amd)
