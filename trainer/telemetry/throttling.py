"""How much a CPU quota holds the run back, from `cpu.stat` of every group on the path that has a quota."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perftui.trainer.telemetry.proc_files import numbers_by_name, read_whole
from perftui.trainer.telemetry.rates import Rates

_NS = 1e9
_US = 1e6


@dataclass(frozen=True)
class Throttling:
    """Since the reading before."""

    share: float
    """Share of the quota's periods (usually 100 ms each) in which tasks were held back (0-1)."""
    cores: float
    """CPUs on which they were, on average over time: the kernel adds the times of all CPUs up."""


class ThrottleClock:
    """Reads the groups with a quota; of several that one counts which held the run back most."""

    def __init__(self) -> None:
        self._rates: Rates[tuple[Path, str]] = Rates()

    def read(self, limited: Sequence[tuple[int, Path]], now_s: float) -> Throttling | None:
        """Return what happened since the last call; None at the first one, or when no group tells.

        Args:
            limited: cgroup version and folder of each group that has a quota.
            now_s: seconds on a clock that does not go back.
        """
        counters: dict[tuple[Path, str], float] = {}
        for version, folder in limited:
            stat = numbers_by_name(read_whole(str(folder / "cpu.stat")))
            held = (
                stat.get(b"throttled_usec", 0) / _US if version == 2 else stat.get(b"throttled_time", 0) / _NS
            )
            if b"nr_periods" in stat:
                counters[folder, "periods"] = stat[b"nr_periods"]
                counters[folder, "throttled"] = stat.get(b"nr_throttled", 0)
                counters[folder, "held_s"] = held
        rates = self._rates.take(counters, now_s)
        found = [_of(rates, folder) for _, folder in limited if (folder, "periods") in rates]
        return max(found, key=lambda each: each.share, default=None)


def _of(rates: dict[tuple[Path, str], float], folder: Path) -> Throttling:
    periods = rates[folder, "periods"]
    # a group that did nothing has no periods: nothing was held back
    share = rates.get((folder, "throttled"), 0.0) / periods if periods else 0.0
    return Throttling(share=min(1.0, share), cores=rates.get((folder, "held_s"), 0.0))
