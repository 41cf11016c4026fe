"""What one GPU did over time: every figure of work as a cumulative series, fed by readings."""

from perftui.ipc.units import MIB
from perftui.trainer.telemetry.cumulative_series import CounterIntake, CumulativeSeries
from perftui.trainer.telemetry.gpu_limits import POWER_MAX_W, TRAFFIC_MAX_MIB_S
from perftui.trainer.telemetry.gpu_readings import THROTTLE_KINDS, WORK_FIGURES, FastReading, SlowReading

_NS = 1e-9


class GpuSeries:
    """The series of one GPU; used by one thread."""

    def __init__(self) -> None:
        self.energy_j = CumulativeSeries()
        self.throttled_s = {kind: CumulativeSeries() for kind in THROTTLE_KINDS}
        self.work = {name: CumulativeSeries() for name in WORK_FIGURES}
        """Share·seconds, or MiB, by figure."""
        self._energy = CounterIntake(self.energy_j, 1.0, POWER_MAX_W)
        self._throttled = {kind: CounterIntake(series, _NS, 1.0) for kind, series in self.throttled_s.items()}
        self._moved = {
            name: CounterIntake(series, 1 / MIB, TRAFFIC_MAX_MIB_S)
            for name, series in self.work.items()
            if name.endswith("_mib_s")
        }

    def take_fast(self, reading: FastReading) -> None:
        """Take activity in."""
        if reading.means is not None:
            means = reading.means
            for name, value in means.values.items():
                if name in self.work:
                    self.work[name].add(means.from_s, means.to_s, value * (means.to_s - means.from_s))
        counters = reading.counters
        if counters is None:
            return
        for kind, raw_ns in counters.throttled_ns.items():
            if kind in self._throttled:
                self._throttled[kind].take(counters.at_s, raw_ns)
        for name, raw_bytes in counters.moved_bytes.items():
            if name in self._moved:
                self._moved[name].take(counters.at_s, raw_bytes)

    def take_slow(self, reading: SlowReading) -> None:
        """Take the energy counter in."""
        if reading.energy_j is not None:
            self._energy.take(reading.energy_at_s, reading.energy_j)

    def refused(self) -> set[str]:
        """Return the figures whose counter was not believed at some time."""
        intakes = {
            "energy_j_per_step": self._energy,
            "energy_j_per_sample": self._energy,
            **{f"throttled_share.{kind}": intake for kind, intake in self._throttled.items()},
            **self._moved,
        }
        return {name for name, intake in intakes.items() if intake.refused}
