"""The worker process that analyses a window's traces, so that neither hub nor training waits for it.

`python -m perftui.trainer.profiling.analyse OUT.analysis.json RANK=FILE…` writes an `Analysis` to OUT, the
whole report beside it (OUT.report.json), and what timelines are drawn from (OUT.rankN.timeline); each whole
or not at all, the answer last. Exit code 0 when it was written, even if a trace was bad: that stands in the
answer.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from perftui.ipc.run_files import write_bytes
from perftui.ipc.trace_report import TraceTimeline
from perftui.trainer.profiling.analysis import analyse_ranks
from perftui.trainer.profiling.answer import Analysis
from perftui.trainer.profiling.profile_rows import profile_rank

_USAGE = "usage: python -m perftui.trainer.profiling.analyse OUT.analysis.json RANK=FILE..."


def main(arguments: Sequence[str]) -> int:
    """Run the worker; return the exit code: 0 written, 1 cannot be written, 2 usage."""
    traces = [_rank_and_file(text) for text in arguments[1:]]
    if not traces or None in traces:
        sys.stderr.write(f"{_USAGE}\n")
        return 2
    out = Path(arguments[0])
    beside = out.name.removesuffix(".json").removesuffix(".analysis")

    def keep(rank: int, drawn: TraceTimeline) -> str:
        path = out.with_name(f"{beside}.rank{rank}.timeline")
        write_bytes(path, msgspec.msgpack.encode(drawn))
        return str(path)

    try:
        report = analyse_ranks([trace for trace in traces if trace is not None], keep)
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


def _rank_and_file(text: str) -> tuple[int, Path] | None:
    rank, equals, file = text.partition("=")
    return (int(rank), Path(file)) if equals and file and rank.isdecimal() else None


if __name__ == "__main__":
    os.nice(10)  # the training may want every core
    sys.exit(main(sys.argv[1:]))
