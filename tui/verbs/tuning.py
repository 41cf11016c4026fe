"""`relaunch`, `tune` and `ledger`: one change, measured; a search for changes; what was measured so far."""

import argparse
import sys

from perftui.ipc.errors import NoSuchRun, UsageError
from perftui.ipc.places import current_folder
from perftui.tui.verbs.dashboard import check_size, no_dashboard
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
        beside=parsed.beside,
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
    if parsed.watch is not None:
        return watch(parsed)
    run_id = None if parsed.run is None else chosen_run(parsed.run).run_id
    description = None if run_id is None else read_record(run_places(run_id).description, RunDescription)
    known = description.arguments if description else {}
    arguments = {**known, **mapped_arguments(current_folder(), parsed.map)}
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
        beside=parsed.beside,
        json_target=parsed.json,
    )
    return tune_verb(asked, ask if sys.stdin.isatty() and sys.stderr.isatty() else None)


def watch(parsed: argparse.Namespace) -> int:
    """Show a search on a screen; without a terminal, or with `--json`, print it as it stands."""
    from perftui.trainer.tuning.search.search_reading import found_search, read_search
    from perftui.trainer.tuning.search.tune_verb import print_search

    found = found_search(parsed.watch)
    if found is None:
        named = f"no search {parsed.watch!r}" if parsed.watch else "no search"
        raise NoSuchRun(f"{named} on this host; begin one with: perftui tune -- python train.py")
    if parsed.json is not None or no_dashboard() is not None:
        print_search(found.state, found.choice, parsed.json)
        return 0
    check_size()
    from perftui.tui.config.place import load_config
    from perftui.tui.search_app import run_search_app

    search_id, config = found.state.plan.search_id, load_config(parsed.config)
    return run_search_app(lambda: read_search(search_id), config=config, ascii_only=parsed.ascii)


def _check_tune(parsed: argparse.Namespace) -> None:
    """Refuse what cannot be meant together, and limits that allow nothing."""
    for name in ("most_trials", "minutes"):
        value = getattr(parsed, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name.replace('_', '-')} {value}: expected a number above 0")
    if parsed.watch is not None:
        if parsed.run is not None or parsed.command or parsed.resume is not None:
            raise UsageError("--watch only looks at a search: no command, no run and no --resume with it")
        return
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
