"""Limits that control groups put on this process, version 1 and 2, over the whole path of groups.

A limit on any ancestor binds, so the walk goes from this process's group up to the top of the mount. Apart
from the samplers because `effective_cpus` is asked by tools that sample nothing.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Hierarchy:
    """One mounted hierarchy as seen by this process."""

    version: int
    folders: tuple[Path, ...]
    """From this process's own group up to the top of the mount."""


@dataclass(frozen=True)
class MemoryLimit:
    """The tightest memory limit, in bytes, and what its group holds without page cache (None: unknown)."""

    limit: int
    used: int | None


def hierarchies(controller: str, root: Path = Path("/")) -> list[Hierarchy]:
    """Return the hierarchies that may limit `controller` (`cpu`, `memory`); none where cgroups are absent."""
    paths = _own_groups(root)
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
    """Return the tightest CPU quota in cores; None without one."""
    quotas = [
        quota
        for hierarchy in hierarchies("cpu", root)
        for folder in hierarchy.folders
        if (quota := _quota(folder, hierarchy.version)) is not None
    ]
    return min(quotas, default=None)


def memory_limit(root: Path = Path("/")) -> MemoryLimit | None:
    """Return the tightest memory limit; None without one."""
    tightest: MemoryLimit | None = None
    for hierarchy in hierarchies("memory", root):
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


def _own_groups(root: Path) -> dict[str, str]:
    """Map each version 1 controller to this process's path; the key "" is version 2."""
    groups: dict[str, str] = {}
    for line in read_text(root / "proc/self/cgroup").splitlines():
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
    names = ("anon", "shmem") if version == 2 else ("total_rss", "total_shmem")
    stat = dict(
        line.split(maxsplit=1) for line in read_text(folder / "memory.stat").splitlines() if " " in line
    )
    values = [_number(stat.get(name, "")) for name in names]
    return None if values[0] is None else values[0] + (values[1] or 0)


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdecimal() else None
