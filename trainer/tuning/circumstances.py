"""What a launch runs under, gathered from its hub's updates: clocks, heat, throttling, neighbours, memory."""

from collections.abc import Iterable, Sequence

from perftui.ipc.facts import RankFacts
from perftui.ipc.host_view import HostView
from perftui.ipc.ledger_records import Circumstances
from perftui.ipc.view import GpuView, RunView
from perftui.trainer.known_values import mean_of_known


class CircumstancesLog:
    """Readings of one launch from its first step on."""

    def __init__(self) -> None:
        self._gpus: list[list[GpuView]] = []
        self._hosts: list[HostView] = []
        self._steps_per_s: list[float] = []
        self._facts: dict[int, RankFacts] = {}

    def take(self, view: RunView) -> None:
        """Take what an update says of the devices, the host and the ranks."""
        if view.gpus:
            self._gpus.append(view.gpus)
        self._hosts += (view.hosts or [])[:1]
        self._steps_per_s += [rank.steps_per_s for rank in view.ranks if rank.steps_per_s]
        self._facts.update({rank.rank: rank.facts for rank in view.ranks if rank.facts is not None})

    def result(self) -> Circumstances:
        """Return means and peaks of all readings so far."""
        flat = [gpu for gpus in self._gpus for gpu in gpus]
        return Circumstances(
            sm_clock_mhz=mean_of_known(gpu.sm_clock_mhz for gpu in flat),
            temperature_c=_most(gpu.temperature_c for gpu in flat),
            utilisation_share=mean_of_known(gpu.utilisation_share for gpu in flat),
            throttled_share=_throttled(flat),
            foreign_processes=mean_of_known(map(_foreign, self._gpus)),
            energy_j_per_step=mean_of_known(map(_energy, self._gpus)),
            gpu_memory_mib=_most(map(_reserved, self._facts.values()))
            or _most(gpu.memory_used_mib for gpu in flat),
            busy_cores=mean_of_known(host.cpu_busy for host in self._hosts),
            pressure_share=mean_of_known(host.pressure_share for host in self._hosts),
            host_memory_mib=_most(host.memory_used_mib for host in self._hosts),
            storage_mib_per_step=self._storage_mib_per_step(),
            compile_s=_most(map(_compile_s, self._facts.values())),
        )

    def _storage_mib_per_step(self) -> float | None:
        read_mib_s = mean_of_known(host.run_storage_read_mib_s for host in self._hosts)
        steps_per_s = mean_of_known(self._steps_per_s)
        return None if read_mib_s is None or not steps_per_s else read_mib_s / steps_per_s


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _throttled(gpus: Sequence[GpuView]) -> dict[str, float]:
    """Return by kind the mean share of the GPU where it is highest; kinds that never occur are left out."""
    found: dict[str, float] = {}
    for uuid in {gpu.uuid for gpu in gpus}:
        shares = [gpu.throttled_share for gpu in gpus if gpu.uuid == uuid and gpu.throttled_share is not None]
        for kind in {kind for each in shares for kind in each}:
            mean = sum(each.get(kind, 0.0) for each in shares) / len(shares)
            if mean > found.get(kind, 0.0):
                found[kind] = mean
    return found


def _foreign(gpus: Sequence[GpuView]) -> float | None:
    return _most(None if gpu.foreign_processes is None else len(gpu.foreign_processes) for gpu in gpus)


def _energy(gpus: Sequence[GpuView]) -> float | None:
    """Sum over the GPUs, where all of them tell."""
    known = [gpu.energy_j_per_step for gpu in gpus if gpu.energy_j_per_step is not None]
    return sum(known) if known and len(known) == len(gpus) else None


def _reserved(facts: RankFacts) -> float | None:
    return None if facts.allocator is None else facts.allocator.peak_reserved_mib


def _compile_s(facts: RankFacts) -> float | None:
    return None if facts.compile is None else facts.compile.compile_s
