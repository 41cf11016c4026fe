"""What one reading of the host costs the hub, with eight ranks of eight loader workers: CPU time.

The processes are real and idle; each worker has four threads, as with a queue feeder and a small pool. Run it
on a quiet host for the least figures, on a busy one for honest ones.

    python benchmarks/host_cost.py [--ranks 8] [--workers 8] [--threads 4] [--readings 40]
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import threading
import time

from perftui.trainer.telemetry.host import SLOW_S, HostSampler
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.telemetry.run_members import RunMembers
from perftui.trainer.telemetry.worker_kin import WORKER_NAME, RankProcess

RUN_ID = "host-cost-benchmark"
SET_NAME = 15  # PR_SET_NAME of prctl


def be_a_rank(workers: int, threads: int) -> None:
    for _ in range(workers):
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(SET_NAME, WORKER_NAME.encode(), 0, 0, 0)
            for _ in range(threads - 1):
                threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
            sys.stdin.read()  # until the benchmark closes its end
            os._exit(0)
    print("ready", flush=True)
    sys.stdin.read()


def measure(ranks: list[RankProcess], readings: int) -> None:
    members, sampler = RunMembers(RUN_ID), HostSampler("here")
    view, scanned_s = sampler.read({}), 0.0
    costs: dict[str, list[float]] = {"scan": [], "second": [], "sweep": []}
    for _ in range(readings):
        began = time.thread_time_ns()
        scanned_s += 5.0
        pids = members.read(scanned_s)
        scanned = time.thread_time_ns()
        view = sampler.read(pids, ranks)
        ended = time.thread_time_ns()
        costs["scan"].append((scanned - began) / 1e3)
        costs["sweep" if view.workers_age_s == 0 else "second"].append((ended - scanned) / 1e3)
        time.sleep(1.0 - time.monotonic() % 1.0)
    print(f"processes of the run: {view.run_processes}, their threads: {view.run_threads}")
    for name, values in costs.items():
        values = values[1:] if name != "second" else values
        middle = statistics.median(values)
        print(f"{name:7} median {middle:7.0f} µs   max {max(values):7.0f} µs   n {len(values)}")
    median = {name: statistics.median(values) for name, values in costs.items()}
    share = (median["second"] + (median["sweep"] - median["second"]) / SLOW_S + median["scan"] / 5) / 1e6
    print(
        f"at the default rates: {share:.2%} of a core; the sampler itself says {view.sampler_cpu_share:.2%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--readings", type=int, default=40)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        be_a_rank(options.workers, options.threads)
        return
    command = [
        sys.executable,
        __file__,
        "--rank",
        f"--workers={options.workers}",
        f"--threads={options.threads}",
    ]
    environment = {**os.environ, "PERFTUI_RUN_ID": RUN_ID}
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        for _ in range(options.ranks)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()
        ranks = [
            RankProcess(number, process.pid, start_ticks(process.pid) or 0, names_workers=True)
            for number, process in enumerate(started)
        ]
        measure(ranks, options.readings)
    finally:
        for process in started:
            process.communicate()


if __name__ == "__main__":
    main()
