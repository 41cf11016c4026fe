"""What TraceML, gpuprof and train-doctor say of the test bed's CPU cases, each run as its manual says.

    python -m benchmarks.case_rivals --json ANSWERS.json --python traceml=A/bin/python \
        --python gpuprof=B/bin/python --python train-doctor=C/bin/python [--minutes M] [--lanes N] [CASE ...]

TraceML needs two edits of the script, which `edited_for_traceml` makes; gpuprof a context round it;
train-doctor none. The answer kept is the first thing that the tool's own report names, in its own words.
Answers are in the file by tool and case; the commands are beside them.
"""

import argparse
import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cases.case import Case
from tests.cases.catalogue import CASES
from tests.cases.lanes import in_lanes, lanes_of
from tests.cases.start import NAME, end_group, environment, neighbours, placed, within

_PATIENCE_S = 90.0
_NOT = "not: "
_MODELS = ("model", "body", "net", "blocks", "flow", "generator", "gates", "embedding", "tables")
_GPUPROF_DRIVER = """
import runpy, signal
import gpuprof

def stop(*_):
    raise SystemExit(0)

signal.signal(signal.SIGALRM, stop)
signal.alarm({seconds})
with gpuprof.profile("case"):
    runpy.run_path("train.py", run_name="__main__")
"""


@dataclass(frozen=True)
class Watch:
    """How long a tool watches.

    Args:
        start_s: given to the script to start in.
        seconds: watched after that.
    """

    start_s: float
    seconds: float

    @property
    def all_s(self) -> float:
        """From the start of the process."""
        return self.start_s + self.seconds


@dataclass(frozen=True)
class Rival:
    """How a tool is run on a case, and where its answer is.

    Args:
        command: the command in the case's folder, from the tool's interpreter.
        prepare: lays what the tool needs beside the script.
        answer: reads the folder and the output.
        interrupt: whether it is ended by SIGINT, as a user would; else it ends by itself.
    """

    command: Callable[[str, Case, Watch], list[str]]
    prepare: Callable[[Path, Case, Watch], None]
    answer: Callable[[Path, str], str]
    interrupt: bool = False


def edited_for_traceml(text: str) -> str:
    """Return the script with TraceML's two edits: `init` at its head, `trace_step` round its loop's body.

    Raises:
        ValueError: no loop with a backward and an optimizer's step was found.
    """
    loops = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.For | ast.While) and _trains(node)
    ]
    if not loops:
        raise ValueError("no training loop was found")
    loop = max(loops, key=lambda node: node.lineno)
    model = next(name for name in _MODELS if re.search(rf"^\s*{name} = ", text, re.MULTILINE))
    lines = text.split("\n")
    first, last = loop.body[0].lineno - 1, (loop.body[-1].end_lineno or 0)
    indent = " " * loop.body[0].col_offset
    body = [f"    {line}" if line else line for line in lines[first:last]]
    lines[first:last] = [f"{indent}with traceml.trace_step({model}):", *body]
    joined = "\n".join(lines)
    return re.sub(
        r"^import torch$",
        "import torch\nimport traceml_ai as traceml\n\ntraceml.init()",
        joined,
        count=1,
        flags=re.MULTILINE,
    )


def _trains(node: ast.AST) -> bool:
    text = ast.unparse(node)
    return ".backward()" in text and re.search(r"\.step\((closure)?\)", text) is not None


def _torchrun(case: Case) -> list[str]:
    if case.ranks == 1:
        return []
    return ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={case.ranks}"]


def _traceml(python: str, case: Case, watch: Watch) -> list[str]:
    return [python, "-m", "traceml_ai.launcher.cli", "run", NAME, "--nproc-per-node", str(case.ranks)]


def _edit_for_traceml(folder: Path, case: Case, watch: Watch) -> None:
    (folder / NAME).write_text(edited_for_traceml(case.text()))


def _said_by_traceml(folder: Path, output: str) -> str:
    found = re.search(r"Verdict: (.+?)\s*\|", output)
    return found[1] if found else _NOT + "no verdict"


def _gpuprof(python: str, case: Case, watch: Watch) -> list[str]:
    return [python, *_torchrun(case), "drive.py"]


def _drive_gpuprof(folder: Path, case: Case, watch: Watch) -> None:
    (folder / "drive.py").write_text(_GPUPROF_DRIVER.format(seconds=int(watch.all_s)))


def _said_by_gpuprof(folder: Path, output: str) -> str:
    found = re.search(r"^\s+\[(\w+)\]\s+(.+)$", output, re.MULTILINE)
    return f"{found[2]} [{found[1]}]" if found else _NOT + "no insight"


def _train_doctor(python: str, case: Case, watch: Watch) -> list[str]:
    window = ["--seconds", f"{watch.seconds:g}", "--timeout", f"{watch.start_s + _PATIENCE_S:g}", "--json"]
    return [python, "-m", "train_doctor", "profile", *window, "--", python, *_torchrun(case), NAME]


def _leave(folder: Path, case: Case, watch: Watch) -> None:
    """train-doctor needs nothing beside the script."""


def _said_by_train_doctor(folder: Path, output: str) -> str:
    try:
        report: dict[str, Any] = json.loads(output[output.index("{") : output.rindex("}") + 1])
    except ValueError:
        return _NOT + "no report"
    findings: list[dict[str, Any]] = report.get("findings") or []
    if findings:
        return str(findings[0]["id"])
    error: dict[str, Any] | str = report.get("error") or "no finding"
    return _NOT + str(error if isinstance(error, str) else error.get("hint") or "no finding")


RIVALS = {
    "traceml": Rival(_traceml, _edit_for_traceml, _said_by_traceml, interrupt=True),
    "gpuprof": Rival(_gpuprof, _drive_gpuprof, _said_by_gpuprof),
    "train-doctor": Rival(_train_doctor, _leave, _said_by_train_doctor),
}


def ask(rival: Rival, python: str, case: Case, watch: Watch) -> tuple[str, str]:
    """Return what the tool says of a case, and the command."""
    with placed(case.text()) as folder, neighbours(case.busy):
        try:
            rival.prepare(folder, case, watch)
        except (ValueError, StopIteration) as problem:
            return f"{_NOT}{problem}", ""
        command = rival.command(python, case, watch)
        process = subprocess.Popen(
            within(case, command),
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if rival.interrupt else subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            try:
                patience_s = 0.0 if rival.interrupt else _PATIENCE_S
                output, _ = process.communicate(timeout=watch.all_s + patience_s)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                output, _ = process.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            output = ""
        finally:
            end_group(process)
        return rival.answer(folder, output), " ".join(["python", *command[1:]]).replace(python, "python")


def main() -> int:
    """Ask every tool about every case that is not in the file yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--python", action="append", default=[], metavar="TOOL=PYTHON")
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument(
        "--start", type=float, default=30.0, metavar="S", help="given to a script to start in"
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing that would start later")
    parser.add_argument("--lanes", type=int, default=0, metavar="N", help="N at a time, on two cores each")
    asked = parser.parse_args()
    pythons = dict(entry.split("=", 1) for entry in asked.python)
    kept: dict[str, dict[str, str]] = json.loads(asked.json.read_text()) if asked.json.exists() else {}
    until = time.monotonic() + 60 * asked.minutes
    watch = Watch(asked.start, asked.seconds)
    wanted = [case for case in CASES if not case.gpus and (not asked.cases or case.name in asked.cases)]
    jobs = [(tool, case) for case in wanted for tool in pythons if case.name not in kept.get(tool, {})]

    def answer_of(job: tuple[str, Case]) -> tuple[str, Case, str, str] | None:
        tool, case = job
        if time.monotonic() > until:
            return None
        return tool, case, *ask(RIVALS[tool], pythons[tool], case, watch)

    lanes = lanes_of(os.sched_getaffinity(0), asked.lanes, 2) if asked.lanes else []
    for found in in_lanes(answer_of, jobs, lanes) if lanes else map(answer_of, jobs):
        if found is None:
            continue
        tool, case, answer, command = found
        kept.setdefault(tool, {})[case.name] = answer
        kept.setdefault("commands", {}).setdefault(f"{tool}, {case.ranks} ranks", command)
        asked.json.write_text(json.dumps(kept, indent=1) + "\n")
        print(f"{case.name:28} {tool:13} {answer}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
