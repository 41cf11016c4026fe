"""The whole loop on a machine with a GPU, through the command line alone, as one JSON document.

Starts the starved demo without a screen, opens a profiling window on it, relaunches it with the remedy of its
leading finding, and asks the run that goes on for its summary.

Usage: python benchmarks/gpu_loop.py RESULT.json [--perftui PROGRAM]
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import perftui.trainer

DEMO = Path(next(iter(perftui.trainer.__path__))).parent / "demos" / "starved.py"
WATCH_S = 120.0


class Program:
    """The command line under test; keeps what was asked and how it ended."""

    def __init__(self, program: str) -> None:
        self._program = program
        self.calls: list[dict[str, Any]] = []

    def __call__(self, *arguments: str) -> Any:
        began = time.time()
        done = subprocess.run([self._program, *arguments], capture_output=True, text=True, check=False)
        self.calls.append(
            {
                "command": ["perftui", *arguments],
                "exit_code": done.returncode,
                "seconds": round(time.time() - began, 1),
                "stderr": done.stderr[-4000:],
            }
        )
        sys.stderr.write(f"{' '.join(arguments)}: {done.returncode}\n{done.stderr[-1000:]}\n")
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            return done.stdout[-4000:]


def run_id_of(program: Program) -> str:
    deadline = time.time() + WATCH_S
    while time.time() < deadline:
        for run in program("ls", "--json")["runs"]:
            if run["state"] == "running":
                return str(run["run_id"])
        time.sleep(2)
    raise SystemExit("no run appeared")


def wait_for_remedy(program: Program, run_id: str) -> dict[str, Any]:
    deadline = time.time() + WATCH_S
    while time.time() < deadline:
        status: dict[str, Any] = program("status", run_id, "--json")
        lead: dict[str, Any] = status["findings"][0] if status["findings"] else {}
        if status["ranks"] and status["ranks"][0]["steps"] > 60 and (lead.get("remedy") or {}).get("set"):
            return status
        time.sleep(3)
    raise SystemExit("no finding with a remedy appeared")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("--perftui", default="perftui")
    arguments = parser.parse_args()
    program = Program(arguments.perftui)
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("torch", "torchvision", "pyzmq", "msgspec")},
        "gpu": subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout,
    }
    command = [arguments.perftui, "run", "--no-tui", "--json", "-", "--", sys.executable, str(DEMO)]
    with subprocess.Popen([*command, "--epochs", "1000"], stdout=subprocess.DEVNULL) as training:
        try:
            run_id = run_id_of(program)
            result["baseline"] = wait_for_remedy(program, run_id)
            result["profile"] = program("profile", run_id, "--json")
            time.sleep(5)
            result["after_window"] = program("status", run_id, "--json")
            remedy = result["baseline"]["findings"][0]["remedy"]["set"]
            changes = [word for name, value in remedy.items() for word in ("--set", f"{name}={value}")]
            result["relaunch"] = program("relaunch", run_id, *changes, "--yes", "--json")
            successor = run_id_of(program)
            time.sleep(25)
            result["winner"] = program("status", successor, "--json")
            program("stop", successor)
            result["ledger"] = program("ledger", "--json")
        finally:
            training.terminate()
            result["calls"] = program.calls
            arguments.result.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
