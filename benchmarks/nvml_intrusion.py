"""What reading GPUs does to the training: step time with the sampler reading and with it idle, in turns.

Within one process, blocks of steps alternate (on, off, off, on, …) while the real sampler process, at its
default rates, is told to read 1, 4 or 16 GPUs' worth, or none. The GPUs that are there are read under several
names. With none in both arms the noise of the method itself is measured. A ratio above 1 means that steps are
slower while the GPUs are read; the interval is a bootstrap over pairs of blocks.

    python -m benchmarks.nvml_intrusion --json RESULT.json

Where perftui is not installed: `make .typing/perftui`, then `PYTHONPATH=.typing python -m benchmarks.…`.
"""

import argparse
import json
import math
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, cast

import torch

from benchmarks.bootstrap import median_interval
from perftui.trainer.telemetry.current_call import CurrentCall
from perftui.trainer.telemetry.gpu_backend import GpuBackend, GpuUnavailable, NoBackend
from perftui.trainer.telemetry.gpu_lines import Sweep, Wanted, line_of, read_from_sampler
from perftui.trainer.telemetry.gpu_rates import rates_of
from perftui.trainer.telemetry.gpu_sampler import serve
from perftui.trainer.telemetry.nvml_backend import NvmlBackend
from perftui.trainer.telemetry.nvml_library import Nvml, start_nvml

WARM_STEPS = 50
HEADING = """\
| loop | GPUs read | step ms, none read | ratio | 95 % interval | ratio of p99 | 95 % interval | period s |
|---|---|---|---|---|---|---|---|"""


class Renamed:
    """The library, for which a name `UUID#n` stands for the GPU with that UUID."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nvml, name)

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> Any:
        return self._nvml.nvmlDeviceGetHandleByUUID(uuid.partition("#")[0])


def choose(current: CurrentCall) -> GpuBackend:
    try:
        return NvmlBackend(current, nvml=cast(Nvml, Renamed(start_nvml(current))))
    except GpuUnavailable as reason:
        return NoBackend(str(reason))


class Reader:
    """The sampler's process; its lines go to a file, which costs this process nothing."""

    def __init__(self, folder: Path, uuid: str) -> None:
        self._uuid = uuid
        self._lines = folder / "lines"
        with self._lines.open("wb") as stream:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.nvml_intrusion", "--serve"],
                stdin=subprocess.PIPE,
                stdout=stream,
            )
        self._want([])
        while not self.sweeps():
            if self._process.poll() is not None:
                raise SystemExit(f"nvml_intrusion: {self._lines.read_text().strip() or 'the sampler ended'}")
            time.sleep(0.05)

    def sweeps(self) -> list[Sweep]:
        """Return what it has read so far."""
        messages = [read_from_sampler(line) for line in self._lines.read_bytes().splitlines()]
        return [message for message in messages if isinstance(message, Sweep)]

    def read(self, gpus: int) -> None:
        """Let it read so many GPUs from now on."""
        self._want([f"{self._uuid}#{place}" for place in range(gpus)])

    def _want(self, uuids: list[str]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line_of(Wanted(uuids=uuids)))
        self._process.stdin.flush()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def mlp(device: str) -> Callable[[], None]:
    """A tiny MLP: the host launches small kernels and hardly waits."""
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(256, 256), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(256, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, labels = torch.randn(512, 256, device=device), torch.randint(10, (512,), device=device)

    def step() -> None:
        optimizer.zero_grad()
        loss: Any = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()

    return step


def matmul(device: str) -> Callable[[], None]:
    """Large products: the GPU is the limit, at its power cap maybe."""
    size, kind = (8192, torch.bfloat16) if device == "cuda" else (128, torch.float32)
    left = torch.randn(size, size, device=device, dtype=kind)

    def step() -> None:
        for _ in range(4):
            torch.mm(left, left)

    return step


def churn(device: str) -> Callable[[], None]:
    """Memory taken from the driver and given back at each step: it takes the driver's locks."""

    def step() -> None:
        torch.empty(64 * 2**20, dtype=torch.uint8, device=device)
        if device == "cuda":
            torch.cuda.empty_cache()

    return step


LOOPS = {"mlp": mlp, "matmul": matmul, "churn": churn}


def block(step: Callable[[], None], wait: Callable[[], None], seconds: float) -> tuple[float, float]:
    """Run steps for so long; return mean and 99th percentile of a step, in ms."""
    took: list[float] = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        step()
        wait()
        took.append((time.perf_counter() - began) * 1e3)
    took.sort()
    return sum(took) / len(took), took[int(0.99 * (len(took) - 1))]


def interval(logs: list[float]) -> dict[str, float]:
    """Return the median ratio and its 95 % bootstrap interval, from logarithms of ratios."""
    lo, hi = median_interval(logs)
    return {"ratio": math.exp(median(logs)), "lo": math.exp(lo), "hi": math.exp(hi)}


def compare(reader: Reader, loop: str, gpus: int, pairs: int, seconds: float, device: str) -> dict[str, Any]:
    """Measure one loop with so many GPUs read and with none."""
    step = LOOPS[loop](device)
    wait: Callable[[], None] = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(WARM_STEPS if device == "cuda" else 3):
        step()
    wait()
    seen = len(reader.sweeps())
    on: list[tuple[float, float]] = []
    off: list[tuple[float, float]] = []
    for pair in range(pairs):
        for reading in (True, False) if pair % 2 == 0 else (False, True):
            reader.read(gpus if reading else 0)
            (on if reading else off).append(block(step, wait, seconds))
    reader.read(0)
    busy = [sweep for sweep in reader.sweeps()[seen:] if sweep.fast]
    took = [sweep.sweep_ms for sweep in busy if sweep.sweep_ms is not None]
    return {
        "loop": loop,
        "gpus": gpus,
        "pairs": pairs,
        "block_s": seconds,
        "step_ms_off": median(mean for mean, _ in off),
        "mean": interval([math.log(a / b) for (a, _), (b, _) in zip(on, off, strict=True)]),
        "p99": interval([math.log(a / b) for (_, a), (_, b) in zip(on, off, strict=True)]),
        "readings": len(busy),
        "period_s": max((sweep.period_s for sweep in busy), default=None),
        "reading_ms_p95": max(took, default=None),
    }


def row(part: dict[str, Any]) -> str:
    mean, tail = part["mean"], part["p99"]
    return (
        f"| {part['loop']} | {part['gpus']} | {part['step_ms_off']:.3f} | {mean['ratio']:.4f} | "
        f"{mean['lo']:.4f} to {mean['hi']:.4f} | "
        f"{tail['ratio']:.3f} | {tail['lo']:.3f} to {tail['hi']:.3f} | "
        f"{part['period_s'] or '—'} |"
    )


def gpu_uuid() -> str:
    cuda: Any = torch.cuda
    return f"GPU-{str(cuda.get_device_properties(0).uuid).removeprefix('GPU-')}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--loops", nargs="+", choices=sorted(LOOPS), default=list(LOOPS))
    parser.add_argument("--gpus", type=int, nargs="+", default=[0, 1, 4, 16], help="GPUs' worth of calls")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--block", type=float, default=1.5, help="seconds")
    parser.add_argument("--uuid", help="read this GPU, and step on the CPU: to try the program out")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.uuid is None and not torch.cuda.is_available():
        print("nvml_intrusion: torch sees no CUDA device; this needs an NVIDIA GPU", file=sys.stderr)
        return 1
    device = "cuda" if args.uuid is None else "cpu"
    uuid = args.uuid or gpu_uuid()
    result: dict[str, Any] = {
        "what": "step time while the sampler reads so many GPUs over step time while it reads none",
        "date": time.strftime("%Y-%m-%d"),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "gpu": torch.cuda.get_device_name(0) if device == "cuda" else None,
        "parts": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(Path(folder), uuid)
        try:
            print(HEADING)
            for loop in args.loops:
                for gpus in args.gpus:
                    part = compare(reader, loop, gpus, args.pairs, args.block, device)
                    result["parts"].append(part)
                    print(row(part), flush=True)
        finally:
            reader.end()
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(rates_of(None), choose)
    else:
        sys.exit(main())
