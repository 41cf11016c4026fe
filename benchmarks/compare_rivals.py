"""perftui's verdict beside train-doctor's, on one script whose truth is known: gain, interval, wall time.

    python -m benchmarks.compare_rivals RESULT.json --train-doctor VENV/bin/train-doctor [--rounds 1]

The script is `benchmarks/verdicts/training.py`, unmodified under both. Asked is what doing a tenth less work
brings (22 pieces a step against 20: 10 % by its making), and what no change at all brings (which perftui
refuses to measure: so it compares 20 with 20 by two arguments that mean the same). Both by their public
commands with their defaults, the tools in turns. `--fix`: also what each finds by itself on the starved demo,
by `train-doctor fix` and `perftui tune`. A further call with the same file goes on.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.verdicts.chains import SCRIPT
from benchmarks.verdicts.records import command_line, versions
from tests.cases.start import end_left

QUESTIONS = {"a tenth less work": (22, 20), "no change": (20, 20)}
PERFTUI = [sys.executable, "-m", "perftui.tui"]
STARVED = Path(__file__).resolve().parents[1] / "demos" / "starved.py"
_LIMIT_S = 1800.0


def _run(command: Sequence[str], folder: Path, more: Mapping[str, str]) -> tuple[str, float, int]:
    """Run to the end; return what it printed, the wall time and the exit code."""
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **more},
        stdout=subprocess.PIPE,
        stderr=sys.stderr,
        text=True,
        check=False,
        timeout=_LIMIT_S,
    )
    return done.stdout, time.monotonic() - began, done.returncode


def _places(folder: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(folder), "PERFTUI_RUNTIME_DIR": str(folder / "r")}


def of_perftui(before: int, after: int, folder: Path) -> dict[str, Any]:
    """Run the script for a moment, then have the change measured: `perftui run`, `perftui relaunch`."""
    more = _places(folder)
    maps = ["--map", "work:neutral=--work {value}", "--map", "same:neutral=--same {value}"]
    script = [sys.executable, str(SCRIPT), "--work", str(before)]
    once = ["run", "--no-tui", "--name", "x", "--steps", "5", *maps, "--", *script]
    _, first_s, _ = _run([*PERFTUI, *once], folder, more)
    change = f"arg.work={after}" if before != after else "arg.same=1"
    text, took_s, code = _run([*PERFTUI, "relaunch", "x", "--set", change, "--yes", "--json"], folder, more)
    if code or not text:
        return {"problem": f"exit code {code}", "wall_s": round(took_s, 1)}
    verdict = json.loads(text)["relaunch"]["verdict"]
    return {
        "verdict": verdict["verdict"],
        "gain": verdict["gain"],
        "interval": [verdict["lo"], verdict["hi"]],
        "confidence": verdict["confidence"],
        "launches": verdict["launches"],
        "wall_s": round(took_s, 1),
        "first_run_s": round(first_s, 1),
        "sentence": verdict["sentence"],
    }


def of_train_doctor(before: int, after: int, folder: Path, tool: Path) -> dict[str, Any]:
    """Have it compare two commands: `train-doctor compare`."""
    python = str(tool.with_name("python"))
    words = [shlex.join([python, str(SCRIPT), "--work", str(work)]) for work in (before, after)]
    command = [str(tool), "compare", "--baseline", words[0], "--candidate", words[1], "--json", "--quiet"]
    text, took_s, code = _run(command, folder, {})
    if not text:
        return {"problem": f"exit code {code}", "wall_s": round(took_s, 1)}
    return {**_train_doctor_says(json.loads(text)), "wall_s": round(took_s, 1)}


def _train_doctor_says(told: dict[str, Any]) -> dict[str, Any]:
    ratio: dict[str, float | None] = told.get("ratio") or {}
    point, low, high = (ratio.get(name) for name in ("point", "low", "high"))
    loss: dict[str, Any] = told.get("loss_check") or {}
    return {
        "verdict": told.get("verdict"),
        "decision": told.get("decision"),
        "gain": None if point is None else point - 1,
        "interval": [None if bound is None else bound - 1 for bound in (low, high)],
        "launches": len(told.get("runs", [])),
        "loss": loss.get("status"),
        "sentence": told.get("reason"),
    }


def fixes(tool: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Return what each finds on the starved demo by itself, raw."""
    found: dict[str, dict[str, Any]] = {}
    target = folder / "tune.json"
    tune = [*PERFTUI, "tune", "--yes", "--json", str(target), "--", sys.executable, str(STARVED)]
    _, took_s, code = _run(tune, folder, _places(folder))
    found["perftui tune"] = {"wall_s": round(took_s, 1), "exit_code": code, **_read(target)}
    fix = [str(tool), "fix", "--json", "--quiet", "--no-card", "--"]
    text, took_s, code = _run([*fix, str(tool.with_name("python")), str(STARVED)], folder, {})
    told = json.loads(text) if text.strip().startswith("{") else {"printed": text[-2000:]}
    found["train-doctor fix"] = {"wall_s": round(took_s, 1), "exit_code": code, "told": told}
    return found


def _read(target: Path) -> dict[str, Any]:
    return {"told": json.loads(target.read_text())} if target.exists() else {"problem": "no result"}


def main() -> None:
    """Ask both, and keep each answer as it comes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("result", type=Path, metavar="RESULT.json")
    parser.add_argument("--train-doctor", type=Path, required=True, metavar="PATH")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--fix", action="store_true")
    asked = parser.parse_args()
    tool = asked.train_doctor.absolute()
    there = asked.result.exists()
    document: dict[str, Any] = json.loads(asked.result.read_text()) if there else {"answers": []}
    document.update(
        date=time.strftime("%Y-%m-%d"),
        command=command_line("benchmarks.compare_rivals", sys.argv[1:]),
        versions={**versions(), "train-doctor": _run([str(tool), "--version"], Path.cwd(), {})[0].strip()},
        cpus=len(os.sched_getaffinity(0)),
    )
    for round_ in range(asked.rounds):
        for question, (before, after) in QUESTIONS.items():
            for name in ("perftui", "train-doctor") if round_ % 2 == 0 else ("train-doctor", "perftui"):
                with tempfile.TemporaryDirectory(prefix="cr-", ignore_cleanup_errors=True) as place:
                    folder = Path(place)
                    ours = name == "perftui"
                    answer = (
                        of_perftui(before, after, folder)
                        if ours
                        else of_train_doctor(before, after, folder, tool)
                    )
                    end_left(folder)
                document["answers"].append({"tool": name, "question": question, **answer})
                print(json.dumps(document["answers"][-1]), flush=True)
                asked.result.write_text(json.dumps(document, indent=1) + "\n")
    if asked.fix:
        with tempfile.TemporaryDirectory(prefix="cr-", ignore_cleanup_errors=True) as place:
            document["fixes"] = fixes(tool, Path(place))
            end_left(Path(place))
        asked.result.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
