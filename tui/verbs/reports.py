"""`report` and `compare`: one run for a colleague, and two runs against each other."""

import argparse

from perftui.ipc.errors import UsageError
from perftui.tui.verbs.live_runs import chosen_run
from perftui.tui.verbs.output import write, write_json, write_lines


def report(parsed: argparse.Namespace) -> int:
    """Write a report of a run to standard output."""
    from perftui.trainer.reporting.document import document_of
    from perftui.trainer.reporting.gather import gather
    from perftui.trainer.reporting.markdown import markdown_of
    from perftui.trainer.reporting.page import page_of

    if parsed.json and parsed.format not in (None, "json"):
        raise UsageError(f"--json and --format {parsed.format}: name one of them")
    gathered = gather(chosen_run(parsed.run))
    if parsed.json or parsed.format == "json":
        write_json(gathered)
    else:
        writer = page_of if parsed.format == "html" else markdown_of
        write(writer(document_of(gathered)).rstrip("\n"))
    return 0


def compare(parsed: argparse.Namespace) -> int:
    """Write the verdict between two recorded runs."""
    from perftui.trainer.tuning.compare_verb import compare_recorded, compare_text

    told = compare_recorded(chosen_run(parsed.a), chosen_run(parsed.b))
    if parsed.json:
        write_json(told)
    else:
        write_lines(compare_text(told))
    return 0
