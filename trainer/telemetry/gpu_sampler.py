"""The process that owns NVML on this host: `python -m perftui.trainer.telemetry.gpu_sampler HOST PERIOD_S`.

It reads which GPUs are wanted from its standard input and writes one line of readings a period to its
standard output. When its input closes, it ends, even while a call into the driver hangs.
"""

import os
import signal
import sys
import threading
import time

from perftui.trainer.telemetry.gpu_lines import FromSampler, Sweep, Unavailable, line_of, read_wanted
from perftui.trainer.telemetry.nvml_reader import NvmlReader, NvmlUnavailable

_NICENESS = 5


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


def _say(message: FromSampler) -> None:
    sys.stdout.buffer.write(line_of(message))
    sys.stdout.buffer.flush()


def _sweep(reader: NvmlReader, uuids: list[str]) -> Sweep:
    began = time.monotonic()
    gpus = [reader.read(uuid) for uuid in uuids]
    now = time.monotonic()
    return Sweep(monotonic_s=now, sweep_ms=(now - began) * 1e3, gpus=gpus)


def _serve(host: str, period_s: float) -> None:
    wish = _Wish()
    try:
        reader = NvmlReader(host)
    except NvmlUnavailable as reason:
        _say(Unavailable(reason=str(reason)))
        return
    _say(_sweep(reader, []))
    due = time.monotonic()
    while True:
        due = max(due + period_s, time.monotonic())  # missed ticks are skipped, never caught up
        if wish.changed.wait(due - time.monotonic()):
            wish.changed.clear()
            due = time.monotonic()
        _say(_sweep(reader, wish.uuids))


def main(arguments: list[str]) -> int:
    """Serve until standard input closes, or until there proves to be nothing to read."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the hub decides when it ends
    os.nice(_NICENESS)
    try:
        _serve(arguments[0], float(arguments[1]))
    except BrokenPipeError:
        os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
