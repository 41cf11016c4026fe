"""The worker process that analyses a window's traces, so that neither hub nor training waits for it.

`python -m perftui.trainer.profiling.analyse OUT.analysis.json RANK[:STEP_MS]=FILE…` writes an `Analysis` to
OUT, the whole report beside it (OUT.report.json), and what timelines are drawn from (OUT.rankN.timeline);
each whole or not at all, the answer last. STEP_MS is a step without the profiler. Exit code 0 when it was
written, even if a trace was bad: that stands in the answer.
"""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from perftui.ipc.run_files import write_bytes
from perftui.ipc.trace_report import TraceTimeline
from perftui.trainer.profiling.analysis import analyse_ranks
from perftui.trainer.profiling.answer import Analysis
from perftui.trainer.profiling.profile_rows import profile_rank

_ASKED = re.compile(r"(?P<rank>\d+)(?::(?P<ms>\d+(?:\.\d+)?))?=(?P<file>.+)", re.DOTALL)
_USAGE = "usage: python -m perftui.trainer.profiling.analyse OUT.analysis.json RANK[:STEP_MS]=FILE..."


def main(arguments: Sequence[str]) -> int:
    """Run the worker; return the exit code: 0 written, 1 cannot be written, 2 usage."""
    asked = [_ASKED.fullmatch(text) for text in arguments[1:]]
    if not asked or None in asked:
        sys.stderr.write(f"{_USAGE}\n")
        return 2
    found = [match for match in asked if match is not None]
    traces = [(int(match["rank"]), Path(match["file"])) for match in found]
    step_ms_before = {int(match["rank"]): float(match["ms"]) for match in found if match["ms"]}
    out = Path(arguments[0])
    beside = out.name.removesuffix(".json").removesuffix(".analysis")

    def keep(rank: int, drawn: TraceTimeline) -> str:
        path = out.with_name(f"{beside}.rank{rank}.timeline")
        write_bytes(path, msgspec.msgpack.encode(drawn))
        return str(path)

    try:
        report = analyse_ranks(traces, keep, step_ms_before)
        report_path = out.with_name(f"{beside}.report.json")
        write_bytes(report_path, msgspec.json.encode(report))
        answer = Analysis(
            ranks=[profile_rank(rank) for rank in report.ranks],
            sentence=report.sentence,
            notes=report.notes,
            report_path=str(report_path),
        )
        write_bytes(out, msgspec.json.encode(answer))
    except OSError as error:
        sys.stderr.write(f"{arguments[0]}: {error.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    os.nice(10)  # the training may want every core
    sys.exit(main(sys.argv[1:]))
