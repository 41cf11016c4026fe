"""`env` and `doctor`: what a shell needs to arm later starts, and whether a training would do well here."""

import argparse
import os
import sys

from perftui.tui.verbs.output import say, write_json, write_lines


def env(_parsed: argparse.Namespace) -> int:
    """Print exports for a shell."""
    from perftui.trainer.launch.environment import exports

    sys.stdout.write("".join(f"{line}\n" for line in exports(dict(os.environ))))  # a shell reads it as it is
    sys.stdout.flush()
    if sys.stdout.isatty():
        say('this is for a shell to read: eval "$(perftui env)"')
    return 0


def doctor(parsed: argparse.Namespace) -> int:
    """Check this environment."""
    from perftui.trainer.launch.doctor import examine, lines_of

    report = examine(parsed.command)
    if parsed.json:
        write_json(report)
    else:
        write_lines(lines_of(report))
    return report.exit_code
