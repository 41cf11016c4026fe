"""`relaunch` and `ledger`: one change, measured, and what was measured so far."""

import argparse
import sys

from perftui.tui.verbs.live_runs import chosen_run
from perftui.tui.verbs.output import ask


def relaunch(parsed: argparse.Namespace) -> int:
    """Measure one change by trials and go on with the winner."""
    from perftui.ipc.places import run_places
    from perftui.ipc.run_files import RunDescription, read_record
    from perftui.ipc.settings import parse_assignments
    from perftui.trainer.tuning.relaunch_verb import relaunch_verb

    run_id = chosen_run(parsed.run).run_id
    description = read_record(run_places(run_id).description, RunDescription)
    arguments = description.arguments if description else {}
    return relaunch_verb(
        run_id,
        parse_assignments(parsed.set, arguments),
        trial=not parsed.no_trial,
        yes=parsed.yes,
        json_target="-" if parsed.json else None,
        ask=ask if sys.stdin.isatty() and sys.stderr.isatty() else None,
    )


def ledger(parsed: argparse.Namespace) -> int:
    """Print the newest lines of the ledger."""
    from perftui.trainer.tuning.ledger_verb import run

    return run(limit=parsed.limit, as_json=parsed.json)
