"""The worker process that analyses a window's traces, so that neither hub nor training waits for it.

`python -m perftui.trainer.profiling.analyse OUT.json RANK=FILE…` writes an `Analysis` to OUT.json, whole or
not at all. Exit code 0 when it was written, even if a trace was bad: that stands in the answer.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from perftui.ipc.run_files import write_bytes
from perftui.trainer.profiling.analysis import analyse_files

_USAGE = "usage: python -m perftui.trainer.profiling.analyse OUT.json RANK=FILE..."


def main(arguments: Sequence[str]) -> int:
    """Run the worker; return the exit code: 0 written, 1 cannot be written, 2 usage."""
    traces = [_rank_and_file(text) for text in arguments[1:]]
    if not traces or None in traces:
        sys.stderr.write(f"{_USAGE}\n")
        return 2
    answer = analyse_files([trace for trace in traces if trace is not None])
    try:
        write_bytes(Path(arguments[0]), msgspec.json.encode(answer))
    except OSError as error:
        sys.stderr.write(f"{arguments[0]}: {error.strerror}\n")
        return 1
    return 0


def _rank_and_file(text: str) -> tuple[int, Path] | None:
    rank, equals, file = text.partition("=")
    return (int(rank), Path(file)) if equals and file and rank.isdecimal() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
