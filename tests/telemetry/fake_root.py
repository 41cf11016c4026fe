"""Folders laid out like /proc, /sys and /dev of machines that are not here, and a clock to read them by."""

import os
from pathlib import Path

HZ = os.sysconf("SC_CLK_TCK")
PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
V2 = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
V1 = (
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
)
HYBRID = V1 + "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"


class Clock:
    """Seconds since boot that pass when they are told to."""

    def __init__(self, now_s: float = 1000.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


def lay(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def stat(
    pid: int,
    started: int = 5,
    own: int = 0,
    children: int = 0,
    *,
    name: str = "a name) with",
    state: str = "S",
    parent: int = 1,
    faults: tuple[int, int] = (0, 0),
    threads: int = 1,
    io_wait: int = 0,
) -> str:
    """One line of /proc/PID/stat: 52 fields, those that nobody reads are 0."""
    fields = ["0"] * 50
    fields[0], fields[1] = state, str(parent)
    fields[7], fields[9] = (str(count) for count in faults)
    fields[11], fields[13] = str(own), str(children)
    fields[17], fields[19], fields[39] = str(threads), str(started), str(io_wait)
    return f"{pid} ({name}) {' '.join(fields)}\n"


def io(called: int, stored: int = 0, written: int = 0) -> str:
    """The text of /proc/PID/io."""
    return (
        f"rchar: {called}\nwchar: 1\nsyscr: 2\nsyscw: 3\n"
        f"read_bytes: {stored}\nwrite_bytes: {written}\ncancelled_write_bytes: 0\n"
    )


def cpu_stat(*columns: tuple[int, ...]) -> str:
    """The text of /proc/stat, from the columns of each CPU: user, nice, system, idle, iowait, irq, …"""
    lines = [" ".join((f"cpu{number}", *map(str, values))) for number, values in enumerate(columns)]
    return "\n".join(("cpu 9 9 9 9 9 9 9 9 0 0", *lines, "intr 1 2 3", "ctxt 5", ""))


def psi(some_us: int, full_us: int = 0, avg10: float = 0.0) -> str:
    """The text of a pressure file."""
    return (
        f"some avg10={avg10:.2f} avg60=0.00 avg300=0.00 total={some_us}\n"
        f"full avg10=0.00 avg60=0.00 avg300=0.00 total={full_us}\n"
    )
