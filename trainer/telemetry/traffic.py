"""What flows between this host and its disks and networks, all processes together."""

import os
from dataclasses import dataclass
from pathlib import Path

from perftui.ipc.units import MIB
from perftui.trainer.telemetry.proc_files import read_whole, whole_numbers
from perftui.trainer.telemetry.rates import Rates

_SECTOR_BYTES = 512  # in /proc/diskstats whatever the device's own sectors are
_NOT_DISKS = ("loop", "ram", "zram", "sr", "fd")


@dataclass(frozen=True)
class DiskTraffic:
    """Block devices since the reading before."""

    read_mib_s: float
    write_mib_s: float
    read_ms: float | None
    """Mean time of a read, queue included; None when none was completed."""
    busy_share: float
    """Share of time with a request under way, of the busiest device (0-1)."""


class DiskClock:
    """Reads /proc/diskstats. A byte counts once: partitions and stacked devices (LVM, RAID) stay out."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._path = str(root / "proc/diskstats")
        self._block = root / "sys/block"
        self._rates: Rates[tuple[str, str]] = Rates()

    def read(self, now_s: float) -> DiskTraffic | None:
        """Return what happened since the last call; None at the first one, or without a disk."""
        counters: dict[tuple[str, str], float] = {}
        wholes = _whole_disks(self._block)
        for line in read_whole(self._path).decode("ascii", "replace").splitlines():
            words = line.split()
            numbers = whole_numbers(words[3:14])
            if len(numbers) < 11 or not _counts(words[2], wholes):
                continue
            name = words[2]
            counters[name, "reads"] = numbers[0]
            counters[name, "read"] = numbers[2] * _SECTOR_BYTES
            counters[name, "read_s"] = numbers[3] / 1e3
            counters[name, "written"] = numbers[6] * _SECTOR_BYTES
            counters[name, "busy_s"] = numbers[9] / 1e3
        rates = self._rates.take(counters, now_s)
        if not rates:
            return None
        reads = _sum(rates, "reads")
        return DiskTraffic(
            read_mib_s=_sum(rates, "read") / MIB,
            write_mib_s=_sum(rates, "written") / MIB,
            read_ms=_sum(rates, "read_s") / reads * 1e3 if reads else None,
            busy_share=min(
                1.0, max((rate for (_, what), rate in rates.items() if what == "busy_s"), default=0)
            ),
        )


def _sum(rates: dict[tuple[str, str], float], wanted: str) -> float:
    return sum(rate for (_, what), rate in rates.items() if what == wanted)


def _whole_disks(block: Path) -> frozenset[str] | None:
    """Return the devices that are neither parts of others nor made of others; None where /sys is hidden."""
    try:
        with os.scandir(block) as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(_NOT_DISKS)]
    except OSError:
        return None
    return frozenset(name for name in names if not _has_entries(block / name / "slaves"))


def _has_entries(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _counts(name: str, wholes: frozenset[str] | None) -> bool:
    if name.startswith(_NOT_DISKS):
        return False
    if wholes is not None:
        return name in wholes
    # by name alone: sda and nvme0n1 are whole, sda1 and nvme0n1p1 are parts, dm-0 and md0 made of others
    if name.startswith(("nvme", "mmcblk")):
        return "p" not in name.removeprefix("nvme").removeprefix("mmcblk")
    return not name.startswith(("dm-", "md")) and not name[-1:].isdigit()


@dataclass(frozen=True)
class NetworkTraffic:
    """Network interfaces since the reading before."""

    in_mib_s: float
    out_mib_s: float


class NetworkClock:
    """Reads /proc/net/dev of this network namespace, without the loopback.

    Where an interface belongs to a device, only such count: bridges and bonds would count a byte again.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._path = str(root / "proc/net/dev")
        self._classes = root / "sys/class/net"
        self._rates: Rates[tuple[str, str]] = Rates()
        self._names: frozenset[str] = frozenset()
        self._real: frozenset[str] = frozenset()

    def read(self, now_s: float) -> NetworkTraffic | None:
        """Return what happened since the last call; None at the first one, or without an interface."""
        counters: dict[tuple[str, str], float] = {}
        for line in read_whole(self._path).decode("ascii", "replace").splitlines():
            name, colon, rest = line.partition(":")
            numbers = whole_numbers(rest.split())
            if colon and len(numbers) >= 16 and name.strip() != "lo":
                counters[name.strip(), "in"] = numbers[0]
                counters[name.strip(), "out"] = numbers[8]
        chosen = self._chosen(frozenset(name for name, _ in counters))
        rates = self._rates.take({key: value for key, value in counters.items() if key[0] in chosen}, now_s)
        return NetworkTraffic(_sum(rates, "in") / MIB, _sum(rates, "out") / MIB) if rates else None

    def _chosen(self, names: frozenset[str]) -> frozenset[str]:
        if names != self._names:
            self._names = names
            self._real = frozenset(name for name in names if (self._classes / name / "device").exists())
        return self._real or names
