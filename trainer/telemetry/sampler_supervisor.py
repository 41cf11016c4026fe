"""Keeps one GPU sampler alive: starts it when GPUs are wanted, watches it against deadlines, replaces it.

Nothing here waits for it. A sampler that is stuck in the driver is killed; while it cannot even be killed, no
other one is started to join it there.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perftui.trainer.telemetry.gpu_lines import Stuck, Sweep, Unavailable, Wanted, line_of, read_from_sampler
from perftui.trainer.telemetry.gpu_rates import GpuRates
from perftui.trainer.telemetry.sampler_process import SamplerProcess

PERIODS_PATIENCE = 3
"""A rate whose readings are older than this many of its periods is silent."""


@dataclass(frozen=True)
class GpuTiming:
    """How often and how patiently; all in seconds."""

    rates: GpuRates = field(default_factory=GpuRates)
    deadline_s: float = 5.0
    """A sampler silent for longer is killed and started again."""
    start_deadline_s: float = 20.0
    """The same for its first word: starting the library can take seconds on a busy host."""
    pause_s: float = 5.0
    """Before the first new start after a failure; doubles each time."""
    pause_max_s: float = 60.0
    reprobe_s: float = 60.0
    """Between two looks for a driver where there was none."""
    end_s: float = 0.5


class SamplerSupervisor:
    """At most one living sampler; used by one thread.

    Args:
        command: what starts it.
        environment: for it.
        timing: deadlines and pauses.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], timing: GpuTiming) -> None:
        self.note: str | None = None
        """Why there are no figures, when there are none."""
        self._command = list(command)
        self._environment = dict(environment)
        self._timing = timing
        self._wanted: list[str] = []
        self._sampler: SamplerProcess | None = None
        self._dying: list[SamplerProcess] = []
        self._heard_at = 0.0
        self._answered_at = 0.0
        self._spoke = False
        self._silent = False
        self._stuck_in: str | None = None
        self._period_s = timing.rates.fast_s
        self._start_at = 0.0
        self._pause_s = timing.pause_s
        self._polled_at = 0.0

    @property
    def pid(self) -> int | None:
        """Process id of the sampler, while there is one."""
        return None if self._sampler is None else self._sampler.pid

    @property
    def patience_s(self) -> float:
        """How long a sampler may say nothing: it speaks once a period."""
        return max(self._timing.deadline_s, PERIODS_PATIENCE * self._period_s)

    def want(self, uuids: list[str]) -> None:
        """Name the GPUs to read from now on."""
        if not self._wanted and self._sampler is None:
            self._answered_at = 0.0
        self._wanted = uuids
        if self._sampler is not None:
            self._sampler.send(line_of(Wanted(uuids=uuids)))

    def poll(self, now: float) -> list[Sweep]:
        """Return what was read since the last call; start and end samplers as need be."""
        self._dying = [sampler for sampler in self._dying if sampler.exit_code() is None]
        sweeps: list[Sweep] = []
        if self._sampler is not None:
            sweeps = self._attend(self._sampler, now)
        elif self._wanted and now >= self._start_at and not self._dying:
            self._start(now)
        if self._silent:
            self.note = self.silence(now - self._answered_at)
        self._polled_at = now
        return sweeps

    def silence(self, silent_s: float) -> str:
        """Return a line about a driver that has said nothing for so long."""
        call = f" (in {self._stuck_in})" if self._stuck_in else ""
        stuck = "; its reader hangs and cannot be ended" if self._dying and self._sampler is None else ""
        return f"GPU driver not answering for {silent_s:.0f} s{call}{stuck}"

    def close(self) -> None:
        """End the sampler; takes `end_s` at most, as it may hang."""
        if self._sampler is not None:
            self._sampler.end(self._timing.end_s)
            self._dying.append(self._sampler)
            self._sampler = None
        deadline = time.monotonic() + self._timing.end_s
        while any(sampler.exit_code() is None for sampler in self._dying) and time.monotonic() < deadline:
            time.sleep(0.01)

    def _start(self, now: float) -> None:
        try:
            self._sampler = SamplerProcess(self._command, self._environment)
        except OSError as error:
            self._pause(f"the GPU sampler cannot be started ({error})", now)
            return
        self._spoke = False
        self._stuck_in = None
        self._heard_at = now
        self._answered_at = self._answered_at or now
        self._sampler.send(line_of(Wanted(uuids=self._wanted)))

    def _attend(self, sampler: SamplerProcess, now: float) -> list[Sweep]:
        away_s = now - self._polled_at
        if away_s > self._timing.deadline_s / 2:  # silence is ours when the hub itself was held up
            self._heard_at += away_s
            self._answered_at += away_s
        code = sampler.exit_code()  # asked first, so that its last words are read below
        sweeps: list[Sweep] = []
        for line in sampler.lines():
            message = read_from_sampler(line)
            if isinstance(message, Unavailable):
                self._give_up(sampler, message.reason, now)
                return sweeps
            if isinstance(message, Sweep):
                self._hear(message, now)
                sweeps.append(message)
            elif isinstance(message, Stuck):
                self._stuck_in = message.call
        if code is not None:
            self._retire(sampler)
            self._silent = False
            self._pause(f"the GPU sampler ended by itself (exit code {code})", now)
        else:
            self._check_silence(sampler, now)
        return sweeps

    def _give_up(self, sampler: SamplerProcess, reason: str, now: float) -> None:
        """There is nothing to read here; look again later."""
        self._retire(sampler)
        self.note = reason
        self._answered_at = 0.0
        self._silent = False
        self._start_at = now + self._timing.reprobe_s

    def _hear(self, sweep: Sweep, now: float) -> None:
        self._heard_at = now
        self._spoke = True
        self._stuck_in = None
        self._period_s = sweep.period_s
        if sweep.fast or not self._wanted:
            self._answered_at = now
            self._silent = False
            self.note = None
            self._pause_s = self._timing.pause_s

    def _check_silence(self, sampler: SamplerProcess, now: float) -> None:
        self._silent = now - self._answered_at > self.patience_s
        patience_s = self.patience_s if self._spoke else self._timing.start_deadline_s
        if now - self._heard_at > patience_s:
            self._retire(sampler)
            self._pause(None, now)

    def _retire(self, sampler: SamplerProcess) -> None:
        sampler.kill()
        self._dying.append(sampler)
        self._sampler = None

    def _pause(self, note: str | None, now: float) -> None:
        self.note = note
        self._start_at = now + self._pause_s
        self._pause_s = min(self._pause_s * 2, self._timing.pause_max_s)
