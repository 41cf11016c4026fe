"""`python -m benchmarks.screen`: what the dashboard costs at 1 to 1,024 ranks, in small and large terminals.

Everything is real but the training: the simulator's ranks speak to a real hub, `perftui RUN` runs in a
pseudo-terminal. Rows are written after each cell, so that what was measured is kept whatever happens.
"""

import argparse
import os
import sys
from pathlib import Path

from benchmarks.screen.cells import Plan, measured
from benchmarks.screen.records import Row, Spread, write_result
from benchmarks.screen.rivals import measure_rivals
from benchmarks.simulator.job import Job
from benchmarks.simulator.live import simulated
from benchmarks.simulator.scenarios import SCENARIOS
from perftui.trainer.launch.run_names import new_run_id

_WARM_S = 15.0
_RANKS = (1, 8, 64, 1024)
_SIZES = ("80x24", "120x40", "200x60")


def _told(row: Row) -> str:
    def ms(each: Spread | None) -> str:
        return "—" if each is None else f"{each.median_ms:.0f}/{each.p95_ms:.0f}"

    cpu = "—" if row.cpu_share is None else f"{row.cpu_share:.1%}"
    rate = "—" if row.bytes_per_s is None else f"{row.bytes_per_s / 1e3:.1f}"
    hub = "—" if row.hub_cpu_share is None else f"{row.hub_cpu_share:.1%}"
    memory = f"{row.rss_mib[0]:.0f} to {row.rss_mib[-1]:.0f}" if row.rss_mib else "—"
    cells = (
        row.program, f"{row.ranks:,}", row.size, ms(row.first_paint), ms(row.first_figures), ms(row.key),
        ms(row.step), cpu, rate, memory, hub, "; ".join(row.notes),
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


_HEADING = (
    "| program | ranks | size | first paint ms | figures ms | key ms | step ms | CPU | kB/s | MiB | hub "
    "| notes |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def main() -> int:
    """Measure, print a table, write the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screen", description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=list(_RANKS))
    parser.add_argument("--sizes", nargs="+", default=list(_SIZES))
    parser.add_argument("--steps-per-s", type=float, default=5.0)
    parser.add_argument("--scenario", choices=SCENARIOS, default="straggler")
    parser.add_argument("--seconds", type=float, default=30.0, help="of steady measuring in each cell")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--keys", type=int, default=18)
    parser.add_argument("--warm", type=float, default=_WARM_S, help="seconds before the first dashboard")
    parser.add_argument("--rivals", type=Path, metavar="BIN", help="folder with nvitop and traceml")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    plan = Plan(starts=asked.starts, keys=asked.keys, seconds=asked.seconds)
    sizes = [(int(w), int(h)) for w, h in (size.split("x") for size in asked.sizes)]
    rows: list[Row] = []
    print(_HEADING, flush=True)

    def keep(row: Row) -> None:
        rows.append(row)
        print(_told(row), flush=True)
        if asked.json is not None:
            write_result(asked.json, sys.argv[1:], rows, os.cpu_count() or 0)

    for ranks in asked.ranks:
        run_id = new_run_id(f"simulated-{ranks}")
        job = Job(run_id=run_id, ranks=ranks, steps_per_s=asked.steps_per_s, scenario=asked.scenario)
        with simulated(job) as simulation:
            simulation.wait(asked.warm)
            for columns, lines in sizes:
                keep(measured(simulation, job, columns, lines, plan))
    if asked.rivals is not None:
        for columns, lines in sizes:
            for row in measure_rivals(asked.rivals, columns, lines, plan):
                keep(row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
