"""Is the cause what the step's time goes into? The script and its mended twin, by the clock on the wall.

    python -m tests.cases.truth [--seconds S] [--rounds N] [--json FILE] [CASE ...]

Knows nothing of perftui: it reads `step N` in the scripts' own output and takes the time between the lines.
"""

import argparse
import os
import queue
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.cases.case import Case
from tests.cases.catalogue import CASES
from tests.cases.measured import Truth, read_truths, write_truths
from tests.cases.start import command_of, end_group, environment, neighbours, placed, within

_STEP = re.compile(r"step (\d+)")
_FIRST_LINE_S = 120.0
_LINES = 4
_PATIENCE = 6.0
"""So many times the seconds asked for are waited for so many lines."""


@dataclass(frozen=True)
class StepTime:
    """Means of a step past the first few: on the clock, and of the processor for all processes together."""

    wall_ms: float
    cpu_ms: float


def step_time(case: Case, text: str, seconds: float) -> StepTime | None:
    """Return what a step takes; None when it printed too little."""
    with placed(text) as folder, neighbours(case.busy, gpu=case.gpu_neighbour):
        process = subprocess.Popen(
            within(case, command_of(case)),
            cwd=folder,
            env=environment() | {"TMPDIR": str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            return _watch(process, seconds)
        finally:
            end_group(process)


def _watch(process: "subprocess.Popen[str]", seconds: float) -> StepTime | None:
    lines: queue.Queue[tuple[float, float, str]] = queue.Queue()
    assert process.stdout is not None

    def read() -> None:
        for line in process.stdout or ():
            lines.put((time.monotonic(), _cpu_seconds(process.pid) if _STEP.search(line) else 0.0, line))

    threading.Thread(target=read, daemon=True).start()
    seen: list[tuple[float, float, int]] = []
    others: list[str] = []
    deadline = time.monotonic() + _FIRST_LINE_S
    while (left := deadline - time.monotonic()) > 0 and process.poll() is None:
        try:
            at, cpu, line = lines.get(timeout=min(left, 1.0))
        except queue.Empty:
            continue
        if found := _STEP.search(line):
            if not seen:
                deadline = time.monotonic() + _PATIENCE * seconds
            seen.append((at, cpu, int(found[1])))
            if at > seen[0][0] + seconds and len(seen) > _LINES:
                break
        else:
            others.append(line)
    if process.poll() not in (None, 0):
        print("".join(others[-12:]))
    began = seen[min(len(seen) // 4, len(seen) - 1)] if seen else None
    if began is None or began is seen[-1]:
        return None
    (first_at, first_cpu, first), (last_at, last_cpu, last) = began, seen[-1]
    steps = last - first
    return StepTime(1000 * (last_at - first_at) / steps, 1000 * (last_cpu - first_cpu) / steps)


def _cpu_seconds(root: int) -> float:
    """Return the processor time of a process and all below it, those that have ended included."""
    parent: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        pid = int(entry.parent.name)
        parent[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    total = 0
    for pid in ticks:
        above: int | None = pid
        while above and above != root:
            above = parent.get(above)
        total += ticks[pid] if above == root else 0
    return total / os.sysconf("SC_CLK_TCK")


def measured(case: Case, seconds: float, rounds: int) -> Truth:
    """Return what a step takes as it is and mended, in turns."""
    faulty: list[StepTime] = []
    mended: list[StepTime] = []
    for _ in range(rounds):
        for text, into in ((case.text(), faulty), (case.mended_text(), mended)):
            if (taken := step_time(case, text, seconds)) is not None:
                into.append(taken)
    if not (faulty and mended):
        return Truth()
    plain, healed = (
        StepTime(median(time.wall_ms for time in times), median(time.cpu_ms for time in times))
        for times in (faulty, mended)
    )
    per_sample = 1 / case.mended_samples
    return Truth(
        round(plain.wall_ms, 2),
        round(1 - healed.wall_ms * per_sample / plain.wall_ms, 2),
        round(1 - healed.cpu_ms * per_sample / plain.cpu_ms, 2) if plain.cpu_ms else None,
    )


def main() -> int:
    """Print a line per script, and keep the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path, help="the figures, by case; those already there are kept")
    parser.add_argument("scripts", nargs="*")
    asked = parser.parse_args()
    for case in CASES:
        if not case.mend or not (case.name in asked.scripts or not (asked.scripts or case.gpus)):
            continue
        truth = measured(case, asked.seconds, asked.rounds)
        print(f"{case.name:28} {truth}", flush=True)
        if asked.json and truth.step_ms is not None:
            write_truths(asked.json, read_truths(asked.json) | {case.name: truth})
    return 0


if __name__ == "__main__":
    sys.exit(main())
