"""How long the analysis of a trace takes and what memory, beside Holistic Trace Analysis, in one run.

    python -m venv hta && hta/bin/pip install HolisticTraceAnalysis==0.5.0 'pandas<3'
    python benchmarks/trace_analysis.py TRACE.json RESULT.json --hta hta/bin/python --large-mib 1024

Both read the same file in processes of their own, in turns. Times are wall and CPU times of the work,
imports left out and given apart; memory is the peak of what the process and its children hold (PSS, looked at
every 5 ms), and beside it the largest resident set of the first process (VmHWM). HTA does what is nearest to
a report: load (all steps kept), temporal and kernel breakdown, overlap, idle classes, launch statistics,
queue length, copy bandwidth. The large trace is made of steps of 1.2 ms with 100 kernels each, until it has
the size.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

OURS = """
import sys, time
began = time.perf_counter()
from pathlib import Path
from perftui.trainer.profiling.analysis import analyse_files
imported = time.perf_counter()
cpu = time.process_time()
report = analyse_files([Path(sys.argv[1])], processes=int(sys.argv[2]))
assert report.ranks[0].error is None, report.ranks[0].error
done = time.perf_counter()
extra = {"events": report.ranks[0].events, "sentence": report.sentence}
"""
HTA = """
import os, sys, time
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
began = time.perf_counter()
import logging, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
from hta.trace_analysis import TraceAnalysis
imported = time.perf_counter()
cpu = time.process_time()
one = {"ranks": [0]}
file = sys.argv[1]
hta = TraceAnalysis(
    trace_files={0: file}, trace_dir=os.path.dirname(file), include_last_profiler_step=True
)
loaded = time.perf_counter()
hta.get_temporal_breakdown(visualize=False)
hta.get_gpu_kernel_breakdown(visualize=False)
hta.get_comm_comp_overlap(visualize=False)
hta.get_idle_time_breakdown(visualize=False, **one)
hta.get_cuda_kernel_launch_stats(visualize=False, **one)
hta.get_queue_length_summary(**one)
hta.get_memory_bw_summary(**one)
done = time.perf_counter()
extra = {"load_s": loaded - imported}
"""
END = """
import json
cpu_s = time.process_time() - cpu
peak = open("/proc/self/status").read().split("VmHWM:")[1].split()[0]
print(json.dumps({
    "import_s": imported - began, "wall_s": done - imported, "cpu_s": cpu_s, "rss_mib": int(peak) / 1024,
    **extra,
}))
"""


def measure(python: str, program: str, trace: Path, processes: int = 1) -> dict[str, Any]:
    command = [python, "-c", program + END, str(trace), str(processes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def peak_mib(python: str, program: str, trace: Path, processes: int = 1) -> float:
    """Return the most that the process and its children held at once; its times would be worth nothing."""
    command = [python, "-c", program + END, str(trace), str(processes)]
    peak_kib = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        while running.poll() is None:
            children = read(f"/proc/{running.pid}/task/{running.pid}/children").split()
            held_kib = pss_kib(str(running.pid)) + sum(map(pss_kib, children))
            peak_kib = max(peak_kib, held_kib)
            time.sleep(0.005)
    return peak_kib / 1024


def pss_kib(pid: str) -> int:
    found = re.search(r"^Pss: +(\d+) kB", read(f"/proc/{pid}/smaps_rollup"), re.MULTILINE)
    return int(found[1]) if found else 0


def read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def median(rounds: list[dict[str, Any]], name: str) -> float:
    values: list[float] = [figures[name] for figures in rounds]
    return statistics.median(values)


def write_large(path: Path, mib: int) -> None:
    """Write steps of 100 launches, kernels and operators until the file has the size."""
    name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
    with path.open("w") as file:
        file.write('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [\n')
        now, correlation, step = 1000.0, 0, 0
        while file.tell() < mib << 20:
            step += 1
            lines = [_event("user_annotation", f"ProfilerStep#{step}", now, 1200.0, 1, "")]
            for number in range(100):
                correlation += 1
                at = now + number * 12
                shapes = f'"External id": {correlation}, "Input Dims": [[128, {number}], [128, {number}]]'
                link = f'"External id": {correlation}, "correlation": {correlation}'
                lines.append(_event("cpu_op", "aten::add", at, 9.5, 1, shapes))
                lines.append(_event("cuda_runtime", "cudaLaunchKernel", at + 2, 6.25, 1, link))
                lines.append(_event("kernel", name, at + 9, 7.125, 7, f'"device": 0, "stream": 7, {link}'))
            file.write(",\n".join(lines) + ",\n")
            now += 1200.0
        file.write('{"ph": "M", "name": "end"}]}\n')


def _event(cat: str, name: str, start: float, duration: float, tid: int, args: str) -> str:
    return (
        f'  {{\n    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": 7, "tid": {tid},\n'
        f'    "ts": {start:.3f}, "dur": {duration:.3f},\n    "args": {{\n      {args}\n    }}\n  }}'
    )


def compared(trace: Path, hta: str | None, rounds: int, cores: int) -> dict[str, Any]:
    """Run all in turns and print medians, and the ratios to HTA within a round."""
    programs = {"one process": (sys.executable, OURS, 1), f"{cores} processes": (sys.executable, OURS, cores)}
    if hta:
        programs["HTA"] = (hta, HTA, 1)
    size_mib = trace.stat().st_size / (1 << 20)
    found: dict[str, list[dict[str, Any]]] = {title: [] for title in programs}
    for _ in range(rounds):
        for title, (python, program, processes) in programs.items():
            found[title].append(measure(python, program, trace, processes))
    result: dict[str, Any] = {
        "trace": trace.name,
        "size_mib": size_mib,
        "rounds": found,
        "peak_mib": {},
        "ratios": {},
    }
    for title, (python, program, processes) in programs.items():
        peak = peak_mib(python, program, trace, processes)
        result["peak_mib"][title] = peak
        wall_s, cpu_s, import_s = (median(found[title], name) for name in ("wall_s", "cpu_s", "import_s"))
        print(
            f"{title:12} wall {wall_s:.3f} s, CPU {cpu_s:.3f} s, import {import_s:.3f} s, "
            f"peak {peak:.0f} MiB ({peak / size_mib:.2f} x the file), "
            f"RSS {median(found[title], 'rss_mib'):.0f} MiB"
        )
    for title in programs if hta else ():
        ratios = [
            slow["wall_s"] / fast["wall_s"] for fast, slow in zip(found[title], found["HTA"], strict=True)
        ]
        result["ratios"][title] = ratios
        if title != "HTA":
            spread = f"{min(ratios):.1f} to {max(ratios):.1f}"
            print(f"{title:12} HTA takes {statistics.median(ratios):.1f} times as long (rounds {spread})")
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("trace", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--hta", help="a Python that has HolisticTraceAnalysis")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--large-mib", type=int, default=0, help="also make and read a trace of this size")
    parsed = parser.parse_args()

    cores = len(os.sched_getaffinity(0))
    result: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": cores,
    }
    result |= {"load_before": os.getloadavg()}
    result |= compared(parsed.trace, parsed.hta, parsed.rounds, cores)
    result |= {"load_after": os.getloadavg()}
    if parsed.large_mib:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "large.json"
            write_large(path, parsed.large_mib)
            large = measure(sys.executable, OURS, path, cores)
            large["peak_mib"] = peak_mib(sys.executable, OURS, path, cores)
            large["size_mib"] = path.stat().st_size / (1 << 20)
        result["large"] = large
        print(
            f"{large['size_mib']:.0f} MiB: {large['events']} events, wall {large['wall_s']:.1f} s, "
            f"peak {large['peak_mib']:.0f} MiB ({large['peak_mib'] / large['size_mib']:.2f} x the file)"
        )
    parsed.result.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
