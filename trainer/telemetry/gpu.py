"""GPU figures for the hub, from a sampler process that may hang, fail or be killed at any time.

The sampler is started when the first GPU is named, watched against a deadline, and started again with growing
pauses. Nothing here waits for it.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from perftui.ipc.view import GpuView
from perftui.trainer.telemetry.gpu_lines import (
    FIGURES,
    Sweep,
    Unavailable,
    Wanted,
    line_of,
    read_from_sampler,
)
from perftui.trainer.telemetry.sampler_process import SamplerProcess

OFF_VARIABLE = "PERFTUI_NO_NVML"
"""Set to 1, it keeps NVML untouched: no sampler, no figures, and a note that says so."""

_MODULE = "perftui.trainer.telemetry.gpu_sampler"


@dataclass(frozen=True)
class GpuTiming:
    """How often and how patiently; all in seconds."""

    period_s: float = 1.0
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


class GpuTelemetry:
    """The GPUs of one host that ranks use; used by one thread.

    Args:
        host: name under which the figures appear.
        python: interpreter that has perftui's dependencies.
        enabled: False is the off switch; `PERFTUI_NO_NVML=1` in the environment is another.
        environment: of the sampler; this process's own by default.
        timing: periods and deadlines.
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
        self.note: str | None = None
        """Why there are no figures, when there are none."""
        self._host = host
        self._timing = timing or GpuTiming()
        self._environment = dict(os.environ if environment is None else environment)
        self._command = [python, "-m", _MODULE, host, str(self._timing.period_s)]
        self._enabled = enabled and self._environment.get(OFF_VARIABLE, "") not in {"1", "true", "yes"}
        self._ranks: dict[str, list[int]] = {}
        self._watched_at: dict[str, float] = {}
        self._last: dict[str, tuple[float, GpuView]] = {}
        self._sampler: SamplerProcess | None = None
        self._dying: list[SamplerProcess] = []
        self._heard_at = 0.0
        self._answered_at = 0.0
        self._spoke = False
        self._silent = False
        self._start_at = 0.0
        self._pause_s = self._timing.pause_s
        self._polled_at = 0.0

    @property
    def sampler_pid(self) -> int | None:
        """Process id of the sampler, while there is one."""
        return None if self._sampler is None else self._sampler.pid

    def watch(self, uuid_to_ranks: dict[str, list[int]]) -> None:
        """Name the GPUs to read and the ranks on each; UUIDs as torch or NVML writes them."""
        news = set(uuid_to_ranks) != set(self._ranks)
        now = time.monotonic()
        self._ranks = {uuid: sorted(ranks) for uuid, ranks in uuid_to_ranks.items()}
        self._watched_at = {uuid: self._watched_at.get(uuid, now) for uuid in self._ranks}
        self._last = {uuid: last for uuid, last in self._last.items() if uuid in self._ranks}
        if news and self._sampler is not None:
            self._sampler.send(line_of(Wanted(uuids=list(self._ranks))))

    def poll(self) -> list[GpuView]:
        """Return every watched GPU as it was last read, with its age; never blocks.

        Figures older than the deadline are None: a silent driver's last word is not its present state.
        """
        now = time.monotonic()
        self._dying = [sampler for sampler in self._dying if sampler.exit_code() is None]
        if not self._enabled:
            self.note = f"GPU readings are switched off ({OFF_VARIABLE})"
        elif self._sampler is not None:
            self._attend(self._sampler, now)
        elif self._ranks and now >= self._start_at:
            self._start(now)
        if self._silent:
            self.note = f"NVML not answering for {now - self._answered_at:.0f} s"
        self._polled_at = now
        return [self._view(uuid, now) for uuid in self._ranks]

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
        self._heard_at = now
        self._answered_at = self._answered_at or now
        self._sampler.send(line_of(Wanted(uuids=list(self._ranks))))

    def _attend(self, sampler: SamplerProcess, now: float) -> None:
        away_s = now - self._polled_at
        if away_s > self._timing.deadline_s / 2:  # silence is ours when the hub itself was held up
            self._heard_at += away_s
            self._answered_at += away_s
        code = sampler.exit_code()  # asked first, so that its last words are read below
        for line in sampler.lines():
            message = read_from_sampler(line)
            if isinstance(message, Unavailable):
                self._retire(sampler)
                self.note = message.reason
                self._answered_at = 0.0
                self._silent = False
                self._start_at = now + self._timing.reprobe_s
                return
            if isinstance(message, Sweep):
                self._take(message, now)
        if code is not None:
            self._retire(sampler)
            self._silent = False
            self._pause(f"the GPU sampler ended by itself (exit code {code})", now)
        else:
            self._check_silence(sampler, now)

    def _take(self, sweep: Sweep, now: float) -> None:
        self._heard_at = now
        self._spoke = True
        self._last.update((gpu.uuid, (sweep.monotonic_s, gpu)) for gpu in sweep.gpus)
        if sweep.gpus or not self._ranks:
            self._answered_at = now
            self._silent = False
            self.note = None
            self._pause_s = self._timing.pause_s

    def _check_silence(self, sampler: SamplerProcess, now: float) -> None:
        timing = self._timing
        self._silent = now - self._answered_at > timing.deadline_s
        if now - self._heard_at > (timing.deadline_s if self._spoke else timing.start_deadline_s):
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

    def _view(self, uuid: str, now: float) -> GpuView:
        read_at, gpu = self._last.get(uuid, (self._watched_at[uuid], None))
        age_s = max(0.0, now - read_at)
        ranks = self._ranks[uuid]
        if gpu is not None and age_s <= self._timing.deadline_s:
            return replace(gpu, host=self._host, ranks=ranks, age_s=age_s)
        silent = "waiting for the first reading" if gpu is None else f"NVML not answering for {age_s:.0f} s"
        reason = self.note or silent
        return GpuView(
            uuid=uuid, host=self._host, ranks=ranks, age_s=age_s, missing=dict.fromkeys(FIGURES, reason)
        )
