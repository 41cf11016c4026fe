"""What the probe costs the training thread: CPU time a step under `perftui run --no-tui` against a plain run.

Fresh processes in rotated order, so that both see the same drift of the host; the difference is taken within
each pair, and its interval comes from a bootstrap over pairs.

    python -m benchmarks.probe_cost --repeats 20 --json benchmarks/results/probe_cost.json
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

from benchmarks.bootstrap import median_interval

LOOP = Path(__file__).with_name("probe_cost_loop.py")
ARMS = ("plain", "perftui")


@dataclass(frozen=True)
class Cost:
    """One process: per step, in microseconds."""

    arm: str
    repeat: int
    cpu_us: float
    wall_us: float
    load_1m: float


def main() -> None:
    """Measure, print a table, and write JSON where asked."""
    args = _arguments()
    loop = [sys.executable, str(LOOP)]
    for name in ("steps", "warm_up", "modules", "batch_size"):
        loop += [f"--{name.replace('_', '-')}", str(getattr(args, name))]
    costs: list[Cost] = []
    with _own_folders() as environment:
        for repeat in range(args.repeats):
            for arm in ARMS if repeat % 2 == 0 else reversed(ARMS):
                cost = _measure(arm, repeat, loop, environment)
                print(f"{repeat:3} {arm:8} {cost.cpu_us:9.1f} µs CPU {cost.wall_us:9.1f} µs wall", flush=True)
                costs.append(cost)
    result = {
        "what": "CPU time of the training thread per step, in microseconds",
        "unix": time.time(),
        "versions": _versions(),
        "arguments": {key: value for key, value in vars(args).items() if key != "json"},
        "medians": {arm: median(cost.cpu_us for cost in costs if cost.arm == arm) for arm in ARMS},
        "added_cpu_us": _paired([_pair(costs, repeat, "cpu_us") for repeat in range(args.repeats)]),
        "added_wall_us": _paired([_pair(costs, repeat, "wall_us") for repeat in range(args.repeats)]),
        "processes": [asdict(cost) for cost in costs],
    }
    _print_table(result)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=20, help="pairs of processes")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--warm-up", type=int, default=500, help="steps left out")
    parser.add_argument("--modules", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


@contextmanager
def _own_folders() -> Generator[dict[str, str], None, None]:
    """Keep the runs of a benchmark apart from the user's own."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        yield {**os.environ, "PERFTUI_RUNTIME_DIR": f"{folder}/r", "XDG_STATE_HOME": f"{folder}/s"}


def _measure(arm: str, repeat: int, loop: list[str], environment: dict[str, str]) -> Cost:
    perftui = str(Path(sys.executable).parent / "perftui")
    command = [perftui, "run", "--no-tui", "--", *loop] if arm == "perftui" else loop
    load = os.getloadavg()[0]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    return Cost(arm, repeat, figures["cpu_us"], figures["wall_us"], load)


def _pair(costs: list[Cost], repeat: int, figure: str) -> float:
    by_arm = {cost.arm: asdict(cost)[figure] for cost in costs if cost.repeat == repeat}
    return float(by_arm["perftui"]) - float(by_arm["plain"])


def _paired(differences: list[float]) -> dict[str, float]:
    """Return the median difference with a percentile bootstrap interval over pairs."""
    lo, hi = median_interval(differences)
    return {
        "median": median(differences),
        "lo": lo,
        "hi": hi,
        "least": min(differences),
        "most": max(differences),
    }


def _versions() -> dict[str, str]:
    with Path("/proc/cpuinfo").open() as lines:
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        **{name: version(name) for name in ("perftui", "torch", "pyzmq", "msgspec")},
        "python": platform.python_version(),
        "kernel": platform.release(),
        "cpu": models[0] if models else platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
    }


def _print_table(result: Mapping[str, object]) -> None:
    print(json.dumps({key: value for key, value in result.items() if key != "processes"}, indent=1))


if __name__ == "__main__":
    main()
