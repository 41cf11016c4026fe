"""Is the cause what the step's time goes into? The script and its mended twin, by the clock on the wall.

    python -m tests.cases.truth [--seconds S] [--rounds N] [SCRIPT ...]

Knows nothing of perftui: it reads `step N` in the scripts' own output and takes the time between the lines.
"""

import argparse
import queue
import re
import subprocess
import sys
import threading
import time

from tests.cases.case import Case
from tests.cases.catalogue import CASES
from tests.cases.start import command_of, end_group, environment, neighbours, placed, within

_STEP = re.compile(r"step (\d+)")
_FIRST_LINE_S = 120.0


def step_ms(case: Case, text: str, seconds: float) -> float | None:
    """Return the mean time of a step past the first few; None when it printed too little."""
    with placed(text) as folder, neighbours(case.busy):
        process = subprocess.Popen(
            within(case, command_of(case)),
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            return _mean_ms(process, seconds)
        finally:
            end_group(process)


def _mean_ms(process: "subprocess.Popen[str]", seconds: float) -> float | None:
    lines: queue.Queue[tuple[float, str]] = queue.Queue()
    assert process.stdout is not None

    def read() -> None:
        for line in process.stdout or ():
            lines.put((time.monotonic(), line))

    threading.Thread(target=read, daemon=True).start()
    seen: list[tuple[float, int]] = []
    others: list[str] = []
    deadline = time.monotonic() + _FIRST_LINE_S
    while (left := deadline - time.monotonic()) > 0 and process.poll() is None:
        try:
            at, line = lines.get(timeout=min(left, 1.0))
        except queue.Empty:
            continue
        if found := _STEP.search(line):
            if not seen:
                deadline = time.monotonic() + seconds
            seen.append((at, int(found[1])))
        else:
            others.append(line)
    if process.poll() not in (None, 0):
        print("".join(others[-12:]))
    began = next((entry for entry in seen if entry[0] >= seen[0][0] + 0.15 * seconds), None)
    if began is None or began is seen[-1]:
        return None
    (first_at, first), (last_at, last) = began, seen[-1]
    return 1000 * (last_at - first_at) / (last - first)


def _tell(case: Case, seconds: float, rounds: int) -> None:
    faulty: list[float] = []
    mended: list[float] = []
    for _ in range(rounds):
        for text, into in ((case.text(), faulty), (case.mended_text() if case.mend else "", mended)):
            if text and (ms := step_ms(case, text, seconds)) is not None:
                into.append(ms)
    plain = sum(faulty) / len(faulty) if faulty else float("nan")
    healed = sum(mended) / len(mended) / case.mended_samples if mended else float("nan")
    print(f"{case.script:26} {plain:9.2f} ms {healed:9.2f} ms mended, share {1 - healed / plain:5.2f}", flush=True)


def main() -> int:
    """Print a line per script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("scripts", nargs="*")
    asked = parser.parse_args()
    for case in CASES:
        if case.script in asked.scripts or not (asked.scripts or case.gpus):
            _tell(case, asked.seconds, asked.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
