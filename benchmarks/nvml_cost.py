"""What the calls into NVML cost, as the sampler makes them: per call, and per reading of 1, 4 and 16 GPUs.

The sampler's own reader is used, with each function of the library timed. Where there are fewer GPUs than
asked for, those that are there are read under several names, each with GPM samples of its own. Only reads;
nothing on the card is changed.

    python benchmarks/nvml_cost.py --json RESULT.json

Where perftui is not installed: `make .typing/perftui`, then `PYTHONPATH=.typing python benchmarks/…`.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from statistics import median
from typing import Any, cast

from perftui.trainer.telemetry.current_call import CurrentCall
from perftui.trainer.telemetry.gpu_backend import GpuUnavailable
from perftui.trainer.telemetry.nvml_backend import NvmlBackend
from perftui.trainer.telemetry.nvml_gpm import METRICS
from perftui.trainer.telemetry.nvml_library import Nvml, start_nvml

LOAD = """
import sys, torch
x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
print("ready", flush=True)
while True:
    for _ in range(16):
        x @ x
    torch.cuda.synchronize()
"""
RATES = ("fast", "slow", "rare")


class TimedNvml:
    """The library with every call timed; a name `UUID#n` stands for the GPU with that UUID."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self.took_us: defaultdict[str, list[float]] = defaultdict(list)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._nvml, name)
        if not name.startswith(("nvmlDevice", "nvmlGpm", "nvmlEvent")) or not callable(found):
            return found
        timed = self._timed(name, found)
        setattr(self, name, timed)
        return timed

    def _timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def timed(*arguments: Any) -> Any:
            if name == "nvmlDeviceGetHandleByUUID":
                arguments = (arguments[0].partition("#")[0],)
            label = name
            if name == "nvmlDeviceGetFieldValues":
                label = f"{name} ({len(arguments[1])} fields: {', '.join(map(str, arguments[1]))})"
            began = time.perf_counter_ns()
            try:
                return call(*arguments)
            except self._nvml.NVMLError as error:
                label = f"{name}: {error}"
                raise
            finally:
                self.took_us[label].append((time.perf_counter_ns() - began) / 1e3)

        return timed


def spread(values: list[float]) -> dict[str, float]:
    """Return median, 99th percentile and largest."""
    ordered = sorted(values)
    return {
        "p50": round(median(ordered), 1),
        "p99": round(ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))], 1),
        "max": round(ordered[-1], 1),
        "n": len(ordered),
    }


def uuids_of(nvml: Any) -> list[str]:
    return [
        nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByIndex(i)) for i in range(nvml.nvmlDeviceGetCount())
    ]


def names_for(uuids: list[str], gpus: int) -> list[str]:
    return [f"{uuids[place % len(uuids)]}#{place}" for place in range(gpus)]


def measure(nvml: Any, uuids: list[str], gpus: int, readings: int, between_s: float) -> dict[str, Any]:
    """Read so many GPUs again and again, at the sampler's pace; return what readings and calls took."""
    timed = TimedNvml(nvml)
    backend = NvmlBackend(CurrentCall(), nvml=cast(Nvml, timed))
    names = names_for(uuids, gpus)
    took_ms: dict[str, list[float]] = {rate: [] for rate in RATES}
    read = {"fast": backend.read_fast, "slow": backend.read_slow, "rare": backend.read_rare}
    first: dict[str, float] = {}
    cpu_s = time.process_time()
    began = time.monotonic()
    for place in range(readings):
        due = time.monotonic() + between_s
        for rate in RATES if place % 4 == 0 else ("fast",):
            at = time.perf_counter_ns()
            for name in names:
                read[rate](name)
            took = (time.perf_counter_ns() - at) / 1e6
            if place:
                took_ms[rate].append(took)
            else:  # handles are looked up, samples allocated, the highest clock asked for
                first[rate] = round(took, 2)
        time.sleep(max(0.0, due - time.monotonic()))
    return {
        "gpus": gpus,
        "first_ms": first,
        "reading_ms": {rate: spread(values) for rate, values in took_ms.items() if values},
        "cpu_share": round((time.process_time() - cpu_s) / (time.monotonic() - began), 4),
        "calls_us": {name: spread(values) for name, values in sorted(timed.took_us.items())},
    }


def field_latencies(nvml: Any, uuid: str) -> dict[str, Any]:
    """Return what the driver itself says that each field took, and each one's cost alone."""
    handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
    wanted = [
        74,
        76,
        269,
        270,
        271,
        82,
        4,
        143,
        144,
        145,
        83,
        191,
        197,
        198,
        (138, 2**32 - 1),
        (139, 2**32 - 1),
    ]
    told: dict[str, Any] = {}
    for field in wanted:
        (value,) = nvml.nvmlDeviceGetFieldValues(handle, [field])
        alone: list[float] = []
        for _ in range(20):
            at = time.perf_counter_ns()
            (value,) = nvml.nvmlDeviceGetFieldValues(handle, [field])
            alone.append((time.perf_counter_ns() - at) / 1e3)
        told[str(field)] = {
            "return": value.nvmlReturn,
            "value": value.value.ullVal,
            "driver_us": value.latencyUsec,
            "alone_us": spread(alone),
        }
    return told


def gpm_by_metrics(nvml: Any, uuid: str) -> dict[str, Any]:
    """Return what one answer costs by the number of metrics that it holds."""
    handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
    samples = [nvml.nvmlGpmSampleAlloc() for _ in range(2)]
    told: dict[str, Any] = {}
    try:
        for sample in samples:
            nvml.nvmlGpmSampleGet(handle, sample)
            time.sleep(0.25)
        for count in range(1, len(METRICS) + 1, 2):
            question = nvml.c_nvmlGpmMetricsGet_t()
            question.version, question.numMetrics = nvml.NVML_GPM_METRICS_GET_VERSION, count
            question.sample1, question.sample2 = samples
            for place, (metric, _, _) in zip(range(count), METRICS.values(), strict=False):
                question.metrics[place].metricId = metric
            took: list[float] = []
            for _ in range(20):
                at = time.perf_counter_ns()
                nvml.nvmlGpmMetricsGet(question)
                took.append((time.perf_counter_ns() - at) / 1e3)
            told[str(count)] = spread(took)
    except nvml.NVMLError as error:
        told["error"] = str(error)
    return told


def start_load() -> "subprocess.Popen[str] | None":
    """Keep the GPU busy from another process; None where torch sees no GPU."""
    load = subprocess.Popen(
        [sys.executable, "-c", LOAD], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert load.stdout is not None
    if load.stdout.readline() == "ready\n":
        return load
    load.wait()
    return None


def table(result: dict[str, Any]) -> str:
    """Return the calls as rows of a document, of the first GPU count, idle and busy."""
    idle = result["idle"][0]["calls_us"]
    nothing = {"p50": "—", "p99": "—"}
    busy: dict[str, Any] = result["busy"][0]["calls_us"] if result["busy"] else {}
    rows = ["| call | idle, median µs | p99 | busy, median µs | p99 |", "|---|---|---|---|---|"]
    for name, cost in idle.items():
        under: dict[str, Any] = busy.get(name, nothing)
        rows.append(f"| `{name}` | {cost['p50']} | {cost['p99']} | {under['p50']} | {under['p99']} |")
    rows += [
        "",
        "| reading of | GPUs | idle, median ms | p99 | busy, median ms | p99 |",
        "|---|---|---|---|---|---|",
    ]
    for place, part in enumerate(result["idle"]):
        loaded: dict[str, Any] = result["busy"][place]["reading_ms"] if result["busy"] else {}
        for rate, cost in part["reading_ms"].items():
            under = loaded.get(rate, nothing)
            cells = (rate, part["gpus"], cost["p50"], cost["p99"], under["p50"], under["p99"])
            rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 4, 16], help="GPUs' worth of calls")
    parser.add_argument("--readings", type=int, default=60, help="of each; every fourth at all rates")
    parser.add_argument("--between", type=float, default=0.25, help="seconds between fast readings")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    try:
        nvml: Any = start_nvml(CurrentCall())
    except GpuUnavailable as reason:
        print(f"nvml_cost: {reason}; this needs an NVIDIA GPU", file=sys.stderr)
        return 1
    uuids = uuids_of(nvml)
    result: dict[str, Any] = {
        "what": "time of NVML calls as the sampler makes them",
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "driver": nvml.nvmlSystemGetDriverVersion(),
        "gpus": [nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByUUID(uuid)) for uuid in uuids],
        "fields": field_latencies(nvml, uuids[0]),
        "gpm_us_by_metrics": gpm_by_metrics(nvml, uuids[0]),
        "idle": [measure(nvml, uuids, gpus, args.readings, args.between) for gpus in args.gpus],
        "busy": [],
    }
    load = start_load()
    if load is None:
        print("nvml_cost: torch sees no GPU here: not measured under load", file=sys.stderr)
    else:
        try:
            result["busy"] = [measure(nvml, uuids, gpus, args.readings, args.between) for gpus in args.gpus]
        finally:
            load.kill()
            load.wait()
    print(table(result), flush=True)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
