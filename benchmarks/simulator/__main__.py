"""`python -m benchmarks.simulator --ranks 1024 --steps-per-s 5`: a made-up training with a real hub.

Dashboards and commands find it like any run, and it goes on until Ctrl-C or for `--seconds`. With
`--record FOLDER` nothing is started: a recording of `--seconds` is written, for `perftui replay FOLDER`.
"""

import argparse
import sys
import time
from pathlib import Path

from benchmarks.screen.terminal import cpu_s, resident_mib
from benchmarks.simulator.job import Job
from benchmarks.simulator.live import Simulation, simulated
from benchmarks.simulator.recordings import write_recording
from benchmarks.simulator.scenarios import SCENARIOS
from perftui.trainer.launch.run_names import new_run_id

_TELL_S = 10.0


def _follow(simulation: Simulation, seconds: float | None) -> None:
    """Tell every ten seconds what the hub costs."""
    began = told = time.monotonic()
    before = cpu_s(simulation.hub.pid)
    while seconds is None or time.monotonic() - began < seconds:
        left = _TELL_S if seconds is None else seconds - (time.monotonic() - began)
        simulation.wait(min(_TELL_S, left))
        now, used = time.monotonic(), cpu_s(simulation.hub.pid)
        share = (used - before) / (now - told)
        print(f"hub: {share:.0%} of a core, {resident_mib(simulation.hub.pid):.0f} MiB", flush=True)
        told, before = now, used


def main() -> int:
    """Simulate, or write a recording."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulator", description=__doc__)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--steps-per-s", type=float, default=5.0, help="of each rank")
    parser.add_argument("--scenario", choices=SCENARIOS, default="healthy")
    parser.add_argument("--ranks-per-host", type=int, default=8)
    parser.add_argument("--cpu", action="store_true", help="ranks without GPUs")
    parser.add_argument("--seconds", type=float, help="default: until Ctrl-C; a recording: 60")
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="write a recording instead")
    asked = parser.parse_args()
    job = Job(
        run_id=new_run_id(f"simulated-{asked.ranks}"),
        ranks=asked.ranks,
        steps_per_s=asked.steps_per_s,
        scenario=asked.scenario,
        ranks_per_host=asked.ranks_per_host,
        gpu=not asked.cpu,
    )
    if asked.record is not None:
        size = write_recording(job, asked.record, asked.seconds or 60.0)
        print(f"{size / 2**20:.1f} MiB; perftui replay {asked.record}")
        return 0
    with simulated(job, asked.seconds) as simulation:
        print(f"perftui {simulation.run_id}", flush=True)
        try:
            _follow(simulation, asked.seconds)
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
