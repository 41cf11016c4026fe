"""How often the procedure is wrong, and what it finds, on simulated hosts whose truth is known.

    python -m benchmarks.verdict_power [--repetitions 800] [--json RESULT.json] [--quick]

Five hosts with the noise that trainings have (`simulated_launches.py`), three ways of the procedure: with
nothing known of the host and up to eight launches; with launch noise learned from eight comparisons as
the ledger does, and up to four launches (what `relaunch` and `tune` do), or eight. Launches are as long as
real ones would be. `--quick`: 60 repetitions, under a minute on one core.
"""

import argparse
import json
import math
import os
import platform
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.simulated_launches import HOSTS, HostModel, simulate_launches
from benchmarks.verdicts.binomial import exact_interval
from benchmarks.verdicts.records import command_line
from perftui.trainer.tuning.noise import Seen, before_repeats, is_untold, learned_noise
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.procedure import next_label
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise, Point
from perftui.trainer.tuning.verdict import SE_LIMIT, decide

GAINS = (0.0, 0.03, 0.05, 0.10)
"""As fractions of speed."""
_QUICK = 60
_COMPARISONS_LEARNED_FROM = 8
_REPETITIONS_A_HOST = 20
"""Comparisons on a host that has learned once."""


@dataclass(frozen=True)
class Way:
    """One way to use the procedure."""

    name: str
    learned: bool
    most_launches: int


WAYS = (
    Way("nothing known, up to 8 launches", learned=False, most_launches=8),
    Way("noise learned, up to 4 launches", learned=True, most_launches=4),
    Way("noise learned, up to 8 launches", learned=True, most_launches=8),
)


@dataclass(frozen=True)
class Cell:
    """One cell of the table, as a job."""

    way: Way
    host: HostModel
    gain: float
    repetitions: int


def run(cell: Cell) -> dict[str, Any]:
    """Simulate one cell; the same numbers each time."""
    rng = random.Random(f"{cell.way.name} {cell.host.name} {cell.gain}")
    words: Counter[str] = Counter()
    launches = 0
    noise = DEFAULT_NOISE

    for number in range(cell.repetitions):
        if cell.way.learned and number % _REPETITIONS_A_HOST == 0:
            noise = _learn(cell.host, rng)
        points = _compare(cell, math.log1p(cell.gain), noise, rng)
        words[decide(points, before_repeats(noise, len(points))).word] += 1
        launches += len(points)
    return {
        "way": cell.way.name,
        "host": cell.host.name,
        "gain": cell.gain,
        "repetitions": cell.repetitions,
        "words": dict(words),
        "faster": _share(words["faster"], cell.repetitions),
        "slower": _share(words["slower"], cell.repetitions),
        "launches": round(launches / cell.repetitions, 2),
    }


def _compare(cell: Cell, log_gain: float, noise: Noise, rng: random.Random) -> list[Point]:
    points: list[Point] = []
    for _, point in simulate_launches(cell.host, log_gain, rng, Caps(), noise.tau0):
        points.append(point)
        known = before_repeats(noise, len(points))
        untold = is_untold(noise, len(points))
        if next_label(points, known, most_launches=cell.way.most_launches, untold=untold) is None:
            break
    return points


def _learn(host: HostModel, rng: random.Random) -> Noise:
    """Learn launch noise from comparisons of four launches, as the ledger would have them."""
    windows: list[list[Seen]] = []
    for _ in range(_COMPARISONS_LEARNED_FROM):
        points = [point for _, point in islice(simulate_launches(host, 0.0, rng, Caps(), 0.01), 4)]
        windows.append([Seen(point.label, point.log_step_s, point.se) for point in points])
    return learned_noise([[each for each in window if each.se <= SE_LIMIT] for window in windows])


def _share(hits: int, of: int) -> dict[str, float]:
    low, high = exact_interval(hits, of)
    return {"share": round(hits / of, 4), "lo": round(low, 4), "hi": round(high, 4)}


def table(rows: list[dict[str, Any]]) -> str:
    """Return Markdown: percent, of identical settings and of true gains."""
    lines: list[str] = []
    for way in WAYS:
        lines += [f"{way.name}:", ""]
        lines += [
            "| host | identical: faster / slower / same / refused | faster at +3 / +5 / +10 % | launches |"
        ]
        lines += ["|---|---|---|---|"]
        for host in HOSTS:
            cells = [row for row in rows if (row["way"], row["host"]) == (way.name, host.name)]
            lines.append(_line(host.name, cells))
        lines.append("")
    return "\n".join(lines)


def _line(name: str, cells: list[dict[str, Any]]) -> str:
    null, *gains = cells
    words: dict[str, int] = null["words"]
    of: int = null["repetitions"]
    refused = words.get("too_noisy", 0) + words.get("repeats_disagree", 0)
    counts = [words.get("faster", 0), words.get("slower", 0), words.get("same", 0), refused]
    shares = " / ".join(f"{100 * count / of:.1f}" for count in counts)
    found = " / ".join(f"{100 * cell['faster']['share']:.0f}" for cell in gains)
    launches = ", ".join(f"{cell['launches']:.1f}" for cell in cells)
    return f"| {name} | {shares} | {found} | {launches} |"


def main() -> None:
    """Run all cells, print the tables, write the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=800)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, metavar="RESULT.json")
    asked = parser.parse_args()
    repetitions = _QUICK if asked.quick else asked.repetitions
    began = time.monotonic()
    cells = [Cell(way, host, gain, repetitions) for way in WAYS for host in HOSTS for gain in GAINS]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        rows = list(pool.map(run, cells))
    print(table(rows))
    print(f"{repetitions} repetitions a cell, {time.monotonic() - began:.0f} s")
    if asked.json:
        document = {
            "date": time.strftime("%Y-%m-%d"),
            "command": command_line("benchmarks.verdict_power", sys.argv[1:]),
            "python": platform.python_version(),
            "seconds": round(time.monotonic() - began),
            "rows": rows,
        }
        asked.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
