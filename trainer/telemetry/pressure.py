"""Pressure stall figures: the share of time in which tasks stood still for want of CPU, memory or storage.

From the kernel's cumulative microseconds, so that a figure covers exactly the time between two readings. The
run's own control group (version 2) tells of its tasks alone; without one it is the whole host. A kernel
without these figures leaves only the CPUs' iowait, which is shown under its own name.
"""

from pathlib import Path
from typing import Literal

from perftui.ipc.host_view import Pressure
from perftui.trainer.telemetry.cgroups import Hierarchy
from perftui.trainer.telemetry.proc_files import read_line
from perftui.trainer.telemetry.rates import Rates

RESOURCES = ("cpu", "memory", "io")
_US = 1e6


def group_with_pressure(unified: Hierarchy | None) -> Path | None:
    """Return the run's own version 2 group, unless it is the top of all, which is the host."""
    if unified is None or not (unified.own / "cgroup.type").exists():  # the top group has no type
        return None
    return unified.own if (unified.own / "cpu.pressure").exists() else None


class PressureClock:
    """Reads three files of the run's group, or of the host where the group has none.

    Attributes:
        counted: the resources of which the kernel told at the last call.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._host = root / "proc/pressure"
        self._rates: Rates[tuple[Path, str, str]] = Rates()
        self.counted: frozenset[str] = frozenset()

    def read(self, group: Path | None, iowait_share: float | None, now_s: float) -> dict[str, Pressure]:
        """Return pressure by resource since the last call; without an entry where it is not known (yet).

        Args:
            group: folder of the run's control group, from `group_with_pressure`.
            iowait_share: what stands in for io where the kernel keeps no pressure figures.
            now_s: seconds on a clock that does not go back.
        """
        sources: dict[str, Literal["cgroup", "host"]] = {}
        folders: dict[str, Path] = {}
        counters: dict[tuple[Path, str, str], float] = {}
        for resource in RESOURCES:
            source, totals = self._totals(resource, group)
            if totals:
                sources[resource] = source
                # another group's totals have a past of their own
                folders[resource] = folder = group if group and source == "cgroup" else self._host
                counters.update({(folder, resource, kind): value / _US for kind, value in totals.items()})
        self.counted = frozenset(sources)
        rates = self._rates.take(counters, now_s)
        found = {
            resource: Pressure(
                source=source,
                some=_share(rates.get((folders[resource], resource, "some"))),
                full=_full(source, resource, rates.get((folders[resource], resource, "full"))),
            )
            for resource, source in sources.items()
            if (folders[resource], resource, "some") in rates
        }
        if "io" not in sources and iowait_share is not None:
            found["io"] = Pressure(source="iowait", some=iowait_share)
        return found

    def _totals(self, resource: str, group: Path | None) -> tuple[Literal["cgroup", "host"], dict[str, int]]:
        if group is not None:
            totals = _totals_us(read_line(str(group / f"{resource}.pressure")))
            if totals:
                return "cgroup", totals
        return "host", _totals_us(read_line(str(self._host / resource)))


def average_of_10_s(text: bytes) -> float | None:
    """Return the kernel's own average of `some` over about ten seconds, as a share."""
    value = _fields(text).get("some", {}).get("avg10")
    try:
        return float(value or "") / 100
    except ValueError:
        return None


def _totals_us(text: bytes) -> dict[str, int]:
    totals = {kind: fields.get("total", "") for kind, fields in _fields(text).items()}
    return {kind: int(total) for kind, total in totals.items() if total.isdecimal()}


def _fields(text: bytes) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for line in text.decode("ascii", "replace").splitlines():
        words = line.split()
        if words:
            found[words[0]] = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    return found


def _full(source: str, resource: str, rate: float | None) -> float | None:
    # for the CPUs of a whole host "full" has no meaning, and the kernel always says 0
    return None if (source, resource) == ("host", "cpu") else _share(rate)


def _share(seconds_per_second: float | None) -> float | None:
    return None if seconds_per_second is None else min(1.0, seconds_per_second)
