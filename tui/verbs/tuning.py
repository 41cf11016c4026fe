"""`relaunch`, `tune` and `ledger`: one change, measured; a search for changes; what was measured so far."""

import argparse
import sys
from pathlib import Path

from perftui.ipc.errors import UsageError
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


def tune(parsed: argparse.Namespace) -> int:
    """Search for faster settings."""
    from perftui.ipc.places import run_places
    from perftui.ipc.run_files import RunDescription, read_record
    from perftui.ipc.settings import parse_assignments
    from perftui.trainer.launch.project_file import mapped_arguments
    from perftui.trainer.tuning.search.tune_verb import Asked, tune_verb

    _check_tune(parsed)
    run_id = None if parsed.run is None else chosen_run(parsed.run).run_id
    description = None if run_id is None else read_record(run_places(run_id).description, RunDescription)
    known = description.arguments if description else {}
    arguments = {**known, **mapped_arguments(Path.cwd(), parsed.map)}
    asked = Asked(
        command=parsed.command,
        run_id=run_id,
        resume=parsed.resume,
        name=parsed.name,
        baseline=parse_assignments(parsed.set, arguments),
        arguments=arguments,
        allow=parsed.allow,
        most_trials=parsed.most_trials,
        most_minutes=parsed.minutes,
        gpu_readings=not parsed.no_nvml,
        yes=parsed.yes,
        json_target=parsed.json,
    )
    return tune_verb(asked, ask if sys.stdin.isatty() and sys.stderr.isatty() else None)


def _check_tune(parsed: argparse.Namespace) -> None:
    """Refuse what cannot be meant together, and limits that allow nothing."""
    for name in ("most_trials", "minutes"):
        value = getattr(parsed, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name.replace('_', '-')} {value}: expected a number above 0")
    if parsed.run is not None and (parsed.command or parsed.resume is not None):
        raise UsageError(f"{parsed.run!r} beside a command or --resume: name one thing to tune")
    if parsed.resume is not None and (parsed.set or parsed.map or parsed.name):
        raise UsageError("--resume goes on with the settings and the name that the search was begun with")
    if parsed.resume is None and parsed.run is None and not parsed.command:
        raise UsageError("nothing to tune; name a command, as in: perftui tune -- python train.py")


def ledger(parsed: argparse.Namespace) -> int:
    """Print the newest lines of the ledger."""
    from perftui.trainer.tuning.ledger_verb import run

    return run(limit=parsed.limit, as_json=parsed.json)
