"""Limits that control groups put on a process, version 1 and 2, over the whole path of groups.

A limit on any ancestor binds, so the walk goes from the process's group up to the top of the mount. Apart
from the samplers because `effective_cpus` is asked by tools that sample nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perftui.trainer.telemetry.proc_files import numbers_by_name, read_whole


@dataclass(frozen=True)
class Hierarchy:
    """One mounted hierarchy, and where in it a process is."""

    version: int
    folders: tuple[Path, ...]
    """From the process's own group up to the top of the mount."""

    @property
    def own(self) -> Path:
        """The process's own group."""
        return self.folders[0]


@dataclass(frozen=True)
class MemoryLimit:
    """The tightest memory limit, in bytes, and what its group holds without page cache (None: unknown)."""

    limit: int
    used: int | None


def hierarchies(controller: str, root: Path = Path("/"), process: int | str = "self") -> list[Hierarchy]:
    """Return the hierarchies that may limit `controller` (`cpu`, `memory`); none where cgroups are absent.

    Args:
        controller: the name of a controller.
        root: where /proc and /sys are looked for.
        process: whose groups: a pid, or `self`.
    """
    paths = _groups_of(process, root)
    found: list[Hierarchy] = []
    for line in read_text(root / "proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        mount, filesystem = left.split(), right.split()
        if len(mount) < 5 or len(filesystem) < 3:
            continue
        if filesystem[0] == "cgroup2" and "" in paths:
            found.append(Hierarchy(2, _walk(root, mount[3], mount[4], paths[""])))
        elif filesystem[0] == "cgroup" and controller in filesystem[2].split(",") and controller in paths:
            found.append(Hierarchy(1, _walk(root, mount[3], mount[4], paths[controller])))
    return found


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Return the tightest CPU quota on this process in cores; None without one."""
    return min((quota for _, _, quota in cpu_quotas(hierarchies("cpu", root))), default=None)


def cpu_quotas(found: Iterable[Hierarchy]) -> list[tuple[int, Path, float]]:
    """Return each group with a CPU quota as cgroup version, folder, and quota in cores."""
    return [
        (hierarchy.version, folder, quota)
        for hierarchy in found
        for folder in hierarchy.folders
        if (quota := _quota(folder, hierarchy.version)) is not None
    ]


def tightest_memory_limit(found: Iterable[Hierarchy]) -> MemoryLimit | None:
    """Return the tightest memory limit of these; None without one."""
    tightest: MemoryLimit | None = None
    for hierarchy in found:
        name = "memory.max" if hierarchy.version == 2 else "memory.limit_in_bytes"
        for folder in hierarchy.folders:
            limit = _number(read_text(folder / name))
            if limit is not None and (tightest is None or limit < tightest.limit):
                tightest = MemoryLimit(limit, _held(folder, hierarchy.version))
    return tightest


def read_text(path: Path) -> str:
    """Return a small system file, or nothing when it cannot be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _groups_of(process: int | str, root: Path) -> dict[str, str]:
    """Map each version 1 controller to the process's path; the key "" is version 2."""
    groups: dict[str, str] = {}
    for line in read_text(root / "proc" / str(process) / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            groups.update(dict.fromkeys(controllers.split(","), path))
    return groups


def _walk(root: Path, mount_root: str, mount_point: str, path: str) -> tuple[Path, ...]:
    # In a container the mount may begin at our own group while the path is told from the host's top.
    inside = path
    if mount_root != "/":
        inside = path[len(mount_root) :] if path.startswith(mount_root) else ""
    names = [name for name in inside.split("/") if name]
    if ".." in names:
        names = []
    top = root / mount_point.lstrip("/")
    return tuple(top.joinpath(*names[:depth]) for depth in range(len(names), -1, -1))


def _quota(folder: Path, version: int) -> float | None:
    if version == 2:
        words = read_text(folder / "cpu.max").split()
    else:
        words = [
            read_text(folder / "cpu.cfs_quota_us").strip(),
            read_text(folder / "cpu.cfs_period_us").strip(),
        ]
    if len(words) != 2:
        return None
    quota, period = _number(words[0]), _number(words[1])
    return quota / period if quota and period else None


def _held(folder: Path, version: int) -> int | None:
    # memory.current counts page cache that the kernel gives back when asked: no risk, so not counted.
    stat = numbers_by_name(read_whole(str(folder / "memory.stat")))
    if version == 2:
        anonymous = stat.get(b"anon")
        kernel = max(0, stat.get(b"kernel", 0) - stat.get(b"slab_reclaimable", 0))
        rest = stat.get(b"shmem", 0) + kernel + stat.get(b"sock", 0)
    else:
        anonymous = stat.get(b"total_rss")
        rest = stat.get(b"total_shmem", 0)
    return None if anonymous is None else anonymous + rest


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdecimal() else None
