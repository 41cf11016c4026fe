"""Device times of steps: what the probe's events say against a trace of the very same steps.

From the trace, a mark that the probe made at a host time is reached by the stream at that time, or when the
last operation that was issued before it ends, whichever is later. So each part of each traced step is
predicted from the trace alone, and compared.

    python benchmarks/device_phases.py RESULT.json [--perftui PROGRAM] [--gpus N]
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from perftui.ipc.messages import DeviceSteps, StepBatch
from perftui.ipc.recording import read_recording

LOOP = Path(__file__).with_name("device_phases_loop.py")
PARTS = ("h2d", "forward", "backward", "optimizer", "comm")
DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def predicted(trace: dict[str, Any]) -> list[dict[str, float]]:
    """Return the parts of each traced step in ms, from the trace."""
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    launched = {
        event["args"]["correlation"]: event["ts"]
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})
    }
    work = sorted(
        (launched[event["args"]["correlation"]], event["ts"] + event["dur"], event["name"])
        for event in events
        if event.get("cat") in DEVICE_WORK and event.get("args", {}).get("correlation") in launched
    )
    phases: dict[str, list[tuple[float, float]]] = {}
    for event in events:
        name = event.get("name", "")
        if event.get("cat") == "user_annotation" and name.startswith("phase:"):
            phases.setdefault(name.removeprefix("phase:"), []).append(
                (event["ts"], event["ts"] + event["dur"])
            )
    ordered = {name: sorted(rows) for name, rows in phases.items()}
    copies = ordered.pop("h2d")
    return [
        _step(work, {name: rows[place] for name, rows in ordered.items()}, copies[2 * place : 2 * place + 2])
        for place in range(1, 5)
    ]


def _step(
    work: list[tuple[float, float, str]],
    phases: dict[str, tuple[float, float]],
    copies: list[tuple[float, float]],
) -> dict[str, float]:
    def reached(host: float, *, communication: bool = True) -> float:
        ends = [
            end
            for issued, end, name in work
            if issued < host and (communication or "nccl" not in name.lower())
        ]
        return max([host, *ends])

    backward, optimizer = phases["backward"], phases["optimizer"]
    forward = phases["forward"]
    parts = {
        "h2d": sum(reached(end) - reached(begin) for begin, end in copies),
        "forward": reached(backward[0]) - reached(forward[0]),
        "optimizer": reached(optimizer[1]) - reached(optimizer[0]),
    }
    computed = max(
        (
            end
            for issued, end, name in work
            if backward[0] <= issued < backward[1] and "nccl" not in name.lower()
        ),
        default=backward[1],
    )
    whole = reached(backward[1]) - reached(backward[0])
    parts["comm"] = max(0.0, reached(backward[1]) - max(computed, backward[0]))
    parts["backward"] = whole
    return {name: value / 1e3 for name, value in parts.items()}


def compare(folder: Path, program: str, gpus: int, name: str, extra: list[str]) -> dict[str, Any]:
    launcher = ["torchrun", "--standalone", f"--nproc-per-node={gpus}"] if gpus > 1 else [sys.executable]
    trace, summary = folder / f"{name}", folder / f"{name}.summary.json"
    command = [*launcher, str(LOOP), "--workload", name, "--trace", str(trace), *extra]
    done = subprocess.run(
        [program, "run", "--no-tui", "--json", str(summary), "--", *command],
        env=os.environ | {"PERFTUI_PHASES": "all"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    document = json.loads(summary.read_text())
    state = Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local/state")) / "perftui" / "runs"
    recording = state / document["run_id"] / "recording"
    result: dict[str, Any] = {
        "gpus": gpus,
        "findings": [f["code"] for f in document["findings"]],
        "ranks": [],
    }
    for rank in range(gpus):
        seen = _seen(recording, rank)
        rows = predicted(json.loads(Path(f"{trace}.{rank}.json").read_text()))
        first = 41
        result["ranks"].append(
            {
                "parts": {
                    part: _both([row[part] for row in rows], [seen[first + n].get(part) for n in range(4)])
                    for part in PARTS
                },
                "device_ms": document["ranks"][rank]["device_ms"],
                "shares": document["ranks"][rank]["shares"],
            }
        )
    return result


def _seen(recording: Path, rank: int) -> dict[int, dict[str, float]]:
    steps: dict[int, dict[str, float]] = {}
    for entry in read_recording(recording):
        message = entry.message
        if isinstance(message, DeviceSteps) and message.rank == rank:
            for place, step in enumerate(message.step):
                steps[step] = {part: getattr(message, f"{part}_ms")[place] for part in PARTS}
                if steps[step]["comm"] >= 0:
                    steps[step]["backward"] += steps[step]["comm"]
        elif isinstance(message, StepBatch) and message.rank == rank:
            for place, step in enumerate(range(message.first_step, message.first_step + len(message.end_ns))):
                steps.setdefault(step, {})["host_wall"] = message.wall_ns[place] / 1e6
    return steps


def _both(trace_ms: list[float], events_ms: list[float | None]) -> dict[str, Any]:
    known = [value for value in events_ms if value is not None and value >= 0]
    if len(known) < len(events_ms):
        return {"trace_ms": median(trace_ms), "events_ms": None, "ratio": None}
    ratio = sum(known) / sum(trace_ms) if sum(trace_ms) else None
    return {"trace_ms": median(trace_ms), "events_ms": median(known), "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("--perftui", default="perftui")
    parser.add_argument("--gpus", type=int, default=1)
    arguments = parser.parse_args()
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("torch", "torchvision")},
        "command": f"python benchmarks/device_phases.py RESULT.json --gpus {arguments.gpus}",
    }
    with tempfile.TemporaryDirectory() as work:
        for name in ("mlp", "gpt", "resnet"):
            extra: list[str] = []
            result[name] = compare(Path(work), arguments.perftui, arguments.gpus, name, extra)
            sys.stderr.write(f"{name}: {json.dumps(result[name])[:1500]}\n")
            arguments.result.write_text(json.dumps(result, indent=1) + "\n")
        if arguments.gpus > 1:
            extra = ["--slow-rank", "1", "--slow-ms", "20", "--steps", "300"]
            result["slow rank"] = compare(Path(work), arguments.perftui, arguments.gpus, "gpt", extra)
            arguments.result.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
