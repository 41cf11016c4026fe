"""Judge kept recordings anew: what today's rules say of runs that were recorded before.

    python -m tests.cases.again FOLDER [CASE ...] [--json FILE]

FOLDER is what `python -m tests.cases.run --keep FOLDER` left; `perftui replay` judges alike.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from perftui.trainer.launch.replay import summary_of_recording
from tests.cases.catalogue import CASES
from tests.cases.results import Result, result_of, write_results


def judged_again(folder: Path, names: list[str]) -> Iterator[Result]:
    """Give the results of the recordings in a folder, all or those of the cases named."""
    known = {case.name: case for case in CASES}
    for kept in sorted(folder.iterdir()):
        name, *marks = kept.name.split("-")
        if name in known and (not names or name in names):
            summary = summary_of_recording(kept)
            yield result_of(known[name], summary, busy="busy" in marks, mended="mended" in marks)


def main() -> int:
    """Print a line per recording; 1 when an answer is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--json", type=Path, metavar="FILE")
    asked = parser.parse_args()
    results: list[Result] = []
    for result in judged_again(asked.folder, asked.cases):
        results.append(result)
        word = "right" if result.right else "WRONG"
        wanted = " or ".join(result.expected)
        busy = " (busy)" if result.busy else ""
        print(f"{word} {result.case}{busy}: expected {wanted}; {', '.join(result.codes)}", flush=True)
    if asked.json:
        write_results(asked.json, results)
    return int(any(not result.right for result in results))


if __name__ == "__main__":
    sys.exit(main())
