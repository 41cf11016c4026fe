"""`trace`: traces of torch.profiler from anywhere, on a screen, as text or as JSON."""

import argparse

from perftui.ipc.errors import UsageError
from perftui.tui.verbs.dashboard import check_size, no_dashboard
from perftui.tui.verbs.live_runs import parse_ranks
from perftui.tui.verbs.output import say, write_json, write_lines


def trace(parsed: argparse.Namespace) -> int:
    """Analyse traces."""
    from perftui.trainer.profiling.report_text import report_text
    from perftui.trainer.profiling.trace_verb import reports_on_disk, trace_report

    ranks = parse_ranks(parsed.ranks)
    if not parsed.json and no_dashboard() is None:
        check_size()
        with reports_on_disk(parsed.files, ranks, parsed.before, say) as reports:
            from perftui.tui.config.place import load_config
            from perftui.tui.trace_app import run_trace_app

            return run_trace_app(*reports, config=load_config(parsed.config), ascii_only=parsed.ascii)
    if parsed.before is not None:
        raise UsageError("--before is for the screen: it takes a terminal, and no --json")
    if parsed.json:
        write_json(trace_report(parsed.files, ranks))
    else:
        write_lines(report_text(trace_report(parsed.files, ranks)))
    return 0
