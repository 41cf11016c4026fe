"""The process that owns the GPU library on this host.

    python -m perftui.trainer.telemetry.gpu_sampler FAST_S SLOW_S RARE_S

It reads which GPUs are wanted from its standard input and writes one line of readings a fast period to its
standard output. When its input closes, it ends, even while a call into the driver hangs.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from perftui.trainer.telemetry.backend_choice import choose_backend
from perftui.trainer.telemetry.current_call import CurrentCall
from perftui.trainer.telemetry.gpu_backend import GpuBackend, NoBackend
from perftui.trainer.telemetry.gpu_lines import FromSampler, Stuck, Sweep, Unavailable, line_of, read_wanted
from perftui.trainer.telemetry.gpu_pace import Pace
from perftui.trainer.telemetry.gpu_rates import GpuRates
from perftui.trainer.telemetry.gpu_readings import RareReading, SlowReading

_Reading = TypeVar("_Reading")

_NICENESS = 5
_STUCK_S = 1.0
_LOOK_S = 0.5


class _Wish:
    """The wanted UUIDs, kept up to date by a thread of their own."""

    def __init__(self) -> None:
        self.uuids: list[str] = []
        self.changed = threading.Event()
        threading.Thread(target=self._follow, name="perftui-gpu-wish", daemon=True).start()

    def _follow(self) -> None:
        for line in sys.stdin.buffer:
            wanted = read_wanted(line)
            if wanted is not None:
                self.uuids = wanted.uuids
                self.changed.set()
        os._exit(0)  # the hub is gone; the main thread may hang in the driver


class _Voice:
    """Standard output, for two threads; a third one watches for calls that do not come back."""

    def __init__(self, current: CurrentCall) -> None:
        self._lock = threading.Lock()
        self._current = current
        threading.Thread(target=self._watch, name="perftui-gpu-stuck", daemon=True).start()

    def say(self, message: FromSampler) -> None:
        """Write one line."""
        with self._lock:
            sys.stdout.buffer.write(line_of(message))
            sys.stdout.buffer.flush()

    def _watch(self) -> None:
        while True:
            time.sleep(_LOOK_S)
            lasting = self._current.lasting()
            if lasting is not None and lasting[1] > _STUCK_S:
                try:
                    self.say(Stuck(call=lasting[0]))
                except (BrokenPipeError, ValueError):  # the hub is gone, or this process ends
                    return


class Sampler:
    """Reads the wanted GPUs at three rates; used by one thread."""

    def __init__(self, backend: GpuBackend, rates: GpuRates) -> None:
        self._backend = backend
        self._fast, self._slow, self._rare = Pace(rates.fast_s), Pace(rates.slow_s), Pace(rates.rare_s)
        self._slow_due = self._rare_due = 0.0

    @property
    def period_s(self) -> float:
        """Seconds between two fast readings, as in force."""
        return self._fast.period_s

    def hurry(self) -> None:
        """Make all readings due: other GPUs are wanted."""
        self._slow_due = self._rare_due = 0.0

    def sweep(self, uuids: list[str]) -> Sweep:
        """Return the readings that are due."""
        now, backend = time.monotonic(), self._backend
        fast = _timed(self._fast, uuids, backend.read_fast)
        slow: list[SlowReading] = []
        rare: list[RareReading] = []
        if uuids and now >= self._slow_due:
            slow = _timed(self._slow, uuids, backend.read_slow)
            self._slow_due = _next(self._slow_due, now, self._slow.period_s, self._fast.period_s)
        if uuids and now >= self._rare_due:
            rare = _timed(self._rare, uuids, backend.read_rare)
            self._rare_due = _next(self._rare_due, now, self._rare.period_s, self._fast.period_s)
        return Sweep(
            backend=backend.name,
            at_s=time.monotonic(),
            cpu_s=time.process_time(),
            period_s=self._fast.period_s,
            sweep_ms=None if self._fast.p95_s is None else self._fast.p95_s * 1e3,
            fast=fast,
            slow=slow,
            rare=rare,
        )


def _timed(pace: Pace, uuids: list[str], read: Callable[[str], _Reading]) -> list[_Reading]:
    began = time.monotonic()
    readings = [read(uuid) for uuid in uuids]
    if uuids:
        pace.note(time.monotonic() - began)
    return readings


def _next(due: float, now: float, period_s: float, tick_s: float) -> float:
    """Return when the next reading is due; missed ones are skipped, never caught up."""
    # half a tick early, so that a tick which comes a little early is not passed over
    regular = due + period_s
    return regular if regular > now else now + period_s - tick_s / 2


def serve(rates: GpuRates, choose: Callable[[CurrentCall], GpuBackend] = choose_backend) -> None:
    """Read until standard input closes, which ends the process; return when there is nothing to read."""
    current = CurrentCall()
    wish, voice = _Wish(), _Voice(current)
    backend = choose(current)
    if isinstance(backend, NoBackend):
        voice.say(Unavailable(reason=backend.reason))
        return
    sampler = Sampler(backend, rates)
    voice.say(sampler.sweep([]))
    due = time.monotonic()
    while True:
        due = max(due + sampler.period_s, time.monotonic())
        if wish.changed.wait(due - time.monotonic()):
            wish.changed.clear()
            sampler.hurry()
            due = time.monotonic()
        voice.say(sampler.sweep(wish.uuids))


def main(arguments: list[str]) -> int:
    """Be the sampler, whose periods are given."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the hub decides when it ends
    os.nice(_NICENESS)
    try:
        serve(GpuRates(*(float(argument) for argument in arguments)))
    except BrokenPipeError:
        os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
