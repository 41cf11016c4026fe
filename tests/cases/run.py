"""Run the cases one at a time under perftui, as a user would, and keep what it says.

    python -m tests.cases.run [CASE ...] [--gpus N] [--repeat N] [--busy] [--mended] [--json FILE] [--lanes N]
    python -m tests.cases.run --table FILE [--rivals FILE]

Exits with 0 when every answer is right. Each script is copied to a neutral name in a folder of its own first.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cases.case import Case
from tests.cases.catalogue import CASES
from tests.cases.lanes import in_lanes, lanes_of
from tests.cases.measured import read_truths
from tests.cases.results import Result, read_results, result_of, write_results
from tests.cases.start import command_of, end_group, end_left, environment, neighbours, placed, within
from tests.cases.table import tables

_WARM_UP_S = 60.0
_START_S = 240.0


def run_case(
    case: Case,
    *,
    busy: bool = False,
    mended: bool = False,
    seconds: float | None = None,
    keep: Path | None = None,
) -> Result:
    """Run one case once and return what perftui found; copy what it recorded into a folder below `keep`."""
    began = time.monotonic()
    seconds = case.seconds if seconds is None else seconds
    cores = max(case.busy, int(busy))
    with (
        placed(case.mended_text() if mended else case.text()) as folder,
        _places() as places,
        neighbours(cores, gpu=case.gpu_neighbour),
    ):
        report = places / "summary.json"
        options = ["--no-tui", "--seconds", f"{seconds:g}", "--json", str(report)]
        command = [sys.executable, "-m", "perftui.tui", "run", *options, "--", *command_of(case)]
        process = subprocess.Popen(
            within(case, command),
            cwd=folder,
            env=environment()
            | {
                "PERFTUI_RUNTIME_DIR": str(places / "r"),
                "XDG_STATE_HOME": str(places),
                "TMPDIR": str(places),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=_START_S + _WARM_UP_S + seconds)
        except subprocess.TimeoutExpired:
            output = "did not end"
        finally:
            end_group(process)
        seen: dict[str, Any] = {"took_s": round(time.monotonic() - began, 1), "busy": busy, "mended": mended}
        if keep is not None:
            _kept(places, keep / f"{case.name}{'-busy' * busy}{'-mended' * mended}-{os.urandom(2).hex()}")
        if not report.exists():
            return Result(case.name, case.expected, **seen, problem=output[-2000:] or "no summary")
        return result_of(case, json.loads(report.read_text()), **seen)


@contextmanager
def _places() -> Generator[Path, None, None]:
    """Give a folder for sockets and state (short: a socket's path is), and leave nothing running in it."""
    with tempfile.TemporaryDirectory(prefix="pc-", ignore_cleanup_errors=True) as name:
        yield Path(name)
        end_left(Path(name))


def _kept(places: Path, folder: Path) -> None:
    """Copy the run's state: recording, summary, windows."""
    for state in places.glob("perftui/runs/*"):
        shutil.copytree(state, folder, dirs_exist_ok=True)


def chosen(names: list[str], gpus: int, *, healthy_only: bool) -> list[Case]:
    """Return the cases asked for: by name; else all that so many GPUs can run, those for a CPU without any.

    Raises:
        KeyError: there is no case of that name.
    """
    if names:
        known = {case.name: case for case in CASES}
        return [known[name] for name in names]
    able = [case for case in CASES if (0 < case.gpus <= gpus if gpus else not case.gpus)]
    return [case for case in able if case.healthy or not healthy_only]


def _line(result: Result) -> str:
    word = "right" if result.right else "WRONG"
    if result.problem is not None:
        return f"{word} {result.case:28} {result.problem.strip().splitlines()[-1][:100]}"
    wanted = " or ".join(result.expected)
    return (
        f"{word} {result.case:28} {result.lead} (expected {wanted}), {result.took_s:.0f} s: {result.sentence}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--gpus", type=int, default=0, help="run the cases for GPUs that so many suffice for")
    parser.add_argument("--healthy", action="store_true", help="only scripts with nothing to mend")
    parser.add_argument("--repeat", type=int, default=1, metavar="N")
    parser.add_argument("--busy", action="store_true", help="keep a core busy meanwhile")
    parser.add_argument("--mended", action="store_true", help="without their causes: the findings must go")
    parser.add_argument("--seconds", type=float, help="instead of each case's own")
    parser.add_argument(
        "--lanes", type=int, default=0, metavar="N", help="N cases at a time, each on cores of its own"
    )
    parser.add_argument("--lane-cores", type=int, default=2, metavar="N", help="cores of a lane")
    parser.add_argument("--json", type=Path, metavar="FILE", help="results; those already there are kept")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep each run's recording: `perftui replay` shows it"
    )
    parser.add_argument("--table", type=Path, metavar="FILE", help="print results as Markdown, run nothing")
    parser.add_argument("--rivals", type=Path, metavar="FILE", help="with --table: answers of other tools")
    return parser.parse_args()


def main() -> int:
    """Run what is asked for; 1 when an answer is wrong."""
    asked = _arguments()
    if asked.table is not None:
        answers = json.loads(asked.rivals.read_text()) if asked.rivals else None
        sys.stdout.write(tables(read_results(asked.table), CASES, read_truths(), answers))
        return 0
    results = read_results(asked.json) if asked.json else []
    wrong = 0
    for result in _answers(asked):
        wrong += not result.right
        results.append(result)
        print(_line(result), flush=True)
        if asked.json:
            write_results(asked.json, results)
    print(f"{wrong} wrong", flush=True)
    return int(wrong > 0)


def _answers(asked: argparse.Namespace) -> Iterator[Result]:
    cases = chosen(asked.cases, asked.gpus, healthy_only=asked.healthy)
    jobs = [case for _ in range(asked.repeat) for case in cases if case.mend or not asked.mended]

    def run(case: Case) -> Result:
        return run_case(case, busy=asked.busy, mended=asked.mended, seconds=asked.seconds, keep=asked.keep)

    if not asked.lanes:
        return map(run, jobs)
    return in_lanes(run, jobs, lanes_of(os.sched_getaffinity(0), asked.lanes, asked.lane_cores))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
