"""One window as all rules see it: the signals, the thresholds, and what was worked out once for everybody."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, cast

from perftui.ipc.view import GpuView
from perftui.trainer.diagnosis.contention import Contention, find_contention
from perftui.trainer.diagnosis.pacing import Pace, Pacer, pace_of
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Readiness, enough_steps, readiness, steady_wait
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals, RunSignals

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Case:
    """What is judged. Everything is derived from the signals and the policy alone."""

    signals: RunSignals
    policy: Policy

    @cached_property
    def ready(self) -> Readiness:
        """Which ranks can be judged by their loader wait."""
        return readiness(self.signals, self.policy)

    @cached_property
    def ranks(self) -> tuple[RankSignals, ...]:
        """Ranks with enough steps for any judgement."""
        return tuple(r for r in self.signals.ranks if enough_steps(r, self.policy))

    @cached_property
    def contended(self) -> tuple[Contention, ...]:
        """Hosts whose cores others use."""
        found = (find_contention(host, self.policy) for host in self.signals.hosts)
        return tuple(each for each in found if each is not None)

    @cached_property
    def paces(self) -> dict[int, Pace]:
        """By rank: who sets its pace."""
        return {
            rank.rank: pace_of(rank, self.gpu(rank), self.wait(rank), self.policy)
            for rank in self.signals.ranks
        }

    def wait(self, rank: RankSignals) -> float | None:
        """Return the share of a step that a rank steadily waits for its loader; None: not measured."""
        return None if rank.shares.loader_wait is None else steady_wait(rank)

    def paced_by(self, rank: RankSignals, *pacers: Pacer) -> bool:
        """Tell whether shortening any of these can make this rank's step shorter."""
        return self.paces[rank.rank].paces(*pacers)

    @cached_property
    def _gpus(self) -> dict[int, GpuView]:
        return {rank: gpu for gpu in reversed(self.signals.gpus) for rank in gpu.ranks}

    @cached_property
    def _hosts(self) -> dict[str, HostSignals]:
        return {host.name: host for host in reversed(self.signals.hosts)}

    @cached_property
    def _ranks_by_host(self) -> Counter[str]:
        return Counter(rank.host for rank in self.signals.ranks)

    @cached_property
    def _strongly_contended(self) -> frozenset[str]:
        return frozenset(found.host.name for found in self.contended if found.strong)

    @cached_property
    def _worked_out(self) -> dict[object, object]:
        return {}

    def once(self, work: Callable[["Case"], _Result]) -> _Result:
        """Return what a function makes of this case, worked out once: rules ask for it at every rank."""
        if work not in self._worked_out:
            self._worked_out[work] = work(self)
        return cast(_Result, self._worked_out[work])

    def gpu(self, rank: RankSignals) -> GpuView | None:
        """Return the GPU that a rank uses, as it was read; None where it was not."""
        return self._gpus.get(rank.rank)

    def host(self, rank: RankSignals) -> HostSignals | None:
        """Return the host of a rank; None where it was not read."""
        return self._hosts.get(rank.host)

    def ranks_on(self, host: str) -> int:
        """Return how many ranks share a host."""
        return self._ranks_by_host[host]

    def strongly_contended(self, host: str) -> bool:
        """Tell whether others take so much of a host that times on it are in doubt."""
        return host in self._strongly_contended
