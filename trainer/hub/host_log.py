"""Readings of one host over time: a single second says little about who keeps the cores busy."""

from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from perftui.ipc.view import HostView, Pressure
from perftui.trainer.diagnosis.signals import HostSignals
from perftui.trainer.hub.even_sample import EvenSample
from perftui.trainer.known_values import mean_of_known

_RECENT = 10
_MEANS = (
    "cpu_busy", "run_busy", "others_busy", "system_busy", "stolen", "load_1m", "pressure_share",
    "throttled_share", "throttled_cores", "memory_used_mib", "shm_free_mib", "swap_used_mib", "swap_in_mib_s",
    "swap_out_mib_s", "refault_mib_s", "disk_read_mib_s", "disk_write_mib_s", "disk_read_ms",
    "disk_busy_share", "network_in_mib_s", "network_out_mib_s", "run_read_mib_s", "run_storage_read_mib_s",
    "run_storage_write_mib_s", "cached_read_share", "sampler_cpu_share",
)  # fmt: skip
_READS = ("run_read_mib_s", "run_storage_read_mib_s", "cached_read_share", "disk_read_mib_s", "disk_read_ms")
"""Rates since the reading before: the first one in the training covers the end of its start as well."""
_COUNTS = ("run_processes", "run_threads")
_PRESSURES = ("pressure_cpu", "pressure_memory", "pressure_io")


def mean_view(views: Sequence[HostView]) -> HostView:
    """Return the mean of some readings (at least one) of one host, without workers; limits are the newest's.

    Counts of processes and threads are the highest. A figure that was missing in some of the readings is the
    mean of the others.
    """
    newest = views[-1]
    changes: dict[str, object] = {
        name: mean_of_known(getattr(view, name) for view in views) for name in _MEANS
    }
    for name in _COUNTS:
        changes[name] = max(
            (count for view in views if (count := getattr(view, name)) is not None), default=None
        )
    for name in _PRESSURES:
        changes[name] = _mean_pressure([each for view in views if (each := getattr(view, name))])
    missing = {name: why for name, why in newest.missing.items() if changes.get(name) is None}
    return msgspec.structs.replace(newest, **changes, missing=missing, workers=[], workers_age_s=None)


def _mean_pressure(readings: Sequence[Pressure]) -> Pressure | None:
    if not readings:
        return None
    alike = [each for each in readings if each.source == readings[-1].source]
    return Pressure(
        source=readings[-1].source,
        some=mean_of_known(each.some for each in alike),
        full=mean_of_known(each.full for each in alike),
    )


def with_workers(view: HostView, before: Iterable[HostView]) -> HostView:
    """Return a reading with the workers of the one before where nobody looked at them anew."""
    if not view.workers_age_s:
        return view
    same = next((each for each in before if each.name == view.name), None)
    return msgspec.structs.replace(view, workers=same.workers) if same is not None else view


def aged(view: HostView, seconds: float) -> HostView:
    """Return a reading as it looks so many seconds after it was taken."""

    def older(age_s: float | None) -> float | None:
        return None if age_s is None else age_s + seconds

    return msgspec.structs.replace(
        view,
        age_s=view.age_s + seconds,
        slow_age_s=older(view.slow_age_s),
        workers_age_s=older(view.workers_age_s),
    )


def signals_over(readings: Iterable[HostView]) -> HostSignals:
    """Return the mean of some readings (at least one) of one host, as the rules see it."""
    views = list(readings)
    newest, mean = views[-1], mean_view(views)
    return HostSignals(
        name=newest.name,
        cpus=newest.cpus,
        cores=newest.cores,
        cpu_busy=mean.cpu_busy,
        run_busy=mean.run_busy,
        pressure_share=mean.pressure_share,
        shm_free_mib=newest.shm_free_mib,
        others_busy=mean.others_busy,
        system_busy=mean.system_busy,
        stolen=mean.stolen,
        throttled_share=mean.throttled_share,
        throttled_cores=mean.throttled_cores,
        pressure_cpu=mean.pressure_cpu,
        pressure_memory=mean.pressure_memory,
        pressure_io=mean.pressure_io,
        memory_used_mib=newest.memory_used_mib,
        memory_total_mib=newest.memory_total_mib,
        oom_kills=newest.oom_kills,
        swap_in_mib_s=mean.swap_in_mib_s,
        refault_mib_s=mean.refault_mib_s,
        shm_total_mib=newest.shm_total_mib,
        disk_read_mib_s=mean.disk_read_mib_s,
        disk_read_ms=mean.disk_read_ms,
        disk_busy_share=mean.disk_busy_share,
        network_in_mib_s=mean.network_in_mib_s,
        run_read_mib_s=mean.run_read_mib_s,
        run_storage_read_mib_s=mean.run_storage_read_mib_s,
        cached_read_share=mean.cached_read_share,
        run_threads=mean.run_threads,
        run_storage_write_mib_s=mean.run_storage_write_mib_s,
        online=newest.cpus_online,
        given=newest.cpus_given,
        gpus_present=newest.gpus_present,
    )


class HostLog:
    """Readings taken once a second: the newest ten, and every n-th over the whole run."""

    def __init__(self) -> None:
        self._recent: deque[HostView] = deque(maxlen=_RECENT)
        self._whole: EvenSample[HostView] = EvenSample()
        self._slow_readings = 0
        """Made while the run trained: many readings only repeat the slow figures of the one before."""

    def add(self, view: HostView, *, training: bool) -> None:
        """Take one reading in; only those made while the run trained count for the whole."""
        view = msgspec.structs.replace(view, workers=[])
        self._recent.append(view)
        if not training:
            return
        self._slow_readings += view.slow_age_s == 0
        if self._slow_readings < 2:  # else libraries that were loaded pass for a dataset on slow storage
            view = msgspec.structs.replace(view, **dict.fromkeys(_READS))
        self._whole.add(view)

    def recent(self) -> HostSignals | None:
        """Return the mean of the last ten seconds."""
        return signals_over(self._recent) if self._recent else None

    def whole(self) -> HostSignals | None:
        """Return the mean over the training so far, or of the last seconds when it has hardly begun."""
        return signals_over(self._whole.kept) if self._whole.kept else self.recent()

    def mean(self) -> HostView | None:
        """Return the mean over the training so far; None before it has begun."""
        return mean_view(self._whole.kept) if self._whole.kept else None
