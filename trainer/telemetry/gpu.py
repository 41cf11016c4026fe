"""GPU figures for the hub: what the sampler reads, kept over time, and joined to the ranks' steps."""

import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from perftui.ipc.view import GpuView
from perftui.trainer.telemetry.gpu_lines import Sweep
from perftui.trainer.telemetry.gpu_over_steps import StepsUntil, over_steps
from perftui.trainer.telemetry.gpu_rates import OFF_VARIABLE, is_switched_off
from perftui.trainer.telemetry.gpu_readings import DriverProcess
from perftui.trainer.telemetry.gpu_series import GpuSeries
from perftui.trainer.telemetry.gpu_view import (
    Foreigners,
    GpuFacts,
    NewestReadings,
    ReadingLimits,
    SamplerFacts,
    gpu_view,
)
from perftui.trainer.telemetry.sampler_supervisor import PERIODS_PATIENCE, GpuTiming, SamplerSupervisor

_MODULE = "perftui.trainer.telemetry.gpu_sampler"
_CPU_OVER_S = 10.0

ForeignOf: TypeAlias = Callable[[str, list[DriverProcess]], Foreigners]
"""Tells which of a GPU's processes are not the run's; given the GPU's UUID."""


@dataclass
class _Gpu:
    """What is known of one GPU."""

    ranks: list[int]
    since_s: float
    newest: NewestReadings = field(default_factory=NewestReadings)
    series: GpuSeries = field(default_factory=GpuSeries)


class GpuTelemetry:
    """The GPUs of one host that ranks use; used by one thread.

    Args:
        host: name under which the figures appear.
        python: interpreter that has perftui's dependencies.
        enabled: False is the off switch; `PERFTUI_NO_NVML=1` in the environment is another.
        environment: of the sampler; this process's own by default.
        timing: rates and deadlines.
    """

    def __init__(
        self,
        host: str,
        python: str,
        *,
        enabled: bool = True,
        environment: Mapping[str, str] | None = None,
        timing: GpuTiming | None = None,
    ) -> None:
        self._host = host
        self._timing = timing or GpuTiming()
        environment = os.environ if environment is None else environment
        self._enabled = enabled and not is_switched_off(environment.get(OFF_VARIABLE))
        rates = self._timing.rates
        periods = [str(period_s) for period_s in (rates.fast_s, rates.slow_s, rates.rare_s)]
        self._sampler = SamplerSupervisor([python, "-m", _MODULE, *periods], environment, self._timing)
        if not self._enabled:
            self._sampler.note = f"GPU readings are switched off (--no-nvml or {OFF_VARIABLE})"
        self._gpus: dict[str, _Gpu] = {}
        self._facts = SamplerFacts()
        self._cpu: deque[tuple[float, float]] = deque()

    @property
    def note(self) -> str | None:
        """Why there are no figures, when there are none."""
        return self._sampler.note

    @property
    def sampler_pid(self) -> int | None:
        """Process id of the sampler, while there is one."""
        return self._sampler.pid

    def watch(self, uuid_to_ranks: Mapping[str, list[int]]) -> None:
        """Name the GPUs to read and the ranks on each; UUIDs as torch or NVML writes them."""
        news = set(uuid_to_ranks) != set(self._gpus)
        now, known = time.monotonic(), self._gpus
        self._gpus = {uuid: known.get(uuid) or _Gpu([], now) for uuid in uuid_to_ranks}
        for uuid, ranks in uuid_to_ranks.items():
            self._gpus[uuid].ranks = sorted(ranks)
        if news:
            self._sampler.want(list(self._gpus))

    def poll(
        self, steps: Mapping[str, StepsUntil] | None = None, foreign_of: ForeignOf | None = None
    ) -> list[GpuView]:
        """Return every watched GPU as it was last read, with its age; never blocks.

        Args:
            steps: by UUID, the steps to which its work is joined.
            foreign_of: judges the processes on a GPU.
        """
        now = time.monotonic()
        if self._enabled:
            for sweep in self._sampler.poll(now):
                self._take(sweep)
        return [self._view(uuid, now, (steps or {}).get(uuid), foreign_of) for uuid in self._gpus]

    def close(self) -> None:
        """End the sampler; takes `end_s` at most, as it may hang."""
        self._sampler.close()

    def _take(self, sweep: Sweep) -> None:
        self._note_cost(sweep)
        for fast in sweep.fast:
            if gpu := self._gpus.get(fast.uuid):
                gpu.newest = replace(gpu.newest, fast=fast)
                gpu.series.take_fast(fast)
        for slow in sweep.slow:
            if gpu := self._gpus.get(slow.uuid):
                gpu.newest = replace(gpu.newest, slow=slow)
                gpu.series.take_slow(slow)
        for rare in sweep.rare:
            if gpu := self._gpus.get(rare.uuid):
                gpu.newest = replace(gpu.newest, rare=rare)

    def _note_cost(self, sweep: Sweep) -> None:
        if self._cpu and sweep.cpu_s < self._cpu[-1][1]:  # another process
            self._cpu.clear()
        self._cpu.append((sweep.at_s, sweep.cpu_s))
        while sweep.at_s - self._cpu[0][0] > _CPU_OVER_S and len(self._cpu) > 2:
            self._cpu.popleft()
        (began_s, before_s), (at_s, cpu_s) = self._cpu[0], self._cpu[-1]
        share = (cpu_s - before_s) / (at_s - began_s) if at_s > began_s else None
        self._facts = SamplerFacts(sweep.backend, sweep.period_s, sweep.sweep_ms, share)

    def _limits(self) -> ReadingLimits:
        least_s, rates = self._sampler.patience_s, self._timing.rates
        slow_s, rare_s = PERIODS_PATIENCE * rates.slow_s, PERIODS_PATIENCE * rates.rare_s
        return ReadingLimits(least_s, max(least_s, slow_s), least_s + rare_s)

    def _view(self, uuid: str, now: float, steps: StepsUntil | None, foreign_of: ForeignOf | None) -> GpuView:
        gpu = self._gpus[uuid]
        fast, slow = gpu.newest.fast, gpu.newest.slow
        silence = "waiting for the first reading" if fast is None else self._sampler.silence(now - fast.at_s)
        foreigners = Foreigners(None)
        if foreign_of is not None and slow is not None and slow.processes is not None:
            foreigners = foreign_of(uuid, slow.processes)
        return gpu_view(
            GpuFacts(uuid, self._host, gpu.ranks, now, gpu.since_s, self.note or silence),
            gpu.newest,
            self._limits(),
            over_steps(gpu.series, steps),
            gpu.series.refused(),
            foreigners,
            self._facts,
        )
