"""`env`, `key`, `doctor`: what arms later starts, what lets hosts join, whether a training would do well."""

import argparse
import os
import sys

from perftui.ipc.errors import UsageError
from perftui.tui.verbs.output import say, write_json, write_lines


def env(_parsed: argparse.Namespace) -> int:
    """Print exports for a shell."""
    from perftui.trainer.launch.environment import exports

    lines = "".join(f"{line}\n" for line in exports(dict(os.environ)))
    sys.stdout.buffer.write(os.fsencode(lines))  # a shell reads it as it is, UTF-8 or not
    sys.stdout.buffer.flush()
    if sys.stdout.isatty():
        say('this is for a shell to read: eval "$(perftui env)"')
    return 0


def key(parsed: argparse.Namespace) -> int:
    """Make a key file."""
    from perftui.ipc.link_keys import new_job_key, read_key, write_key

    if parsed.of is None:
        if parsed.may_command:
            raise UsageError("--may-command goes with --of JOBKEY; a job's own key may command anyway")
        write_key(parsed.file, new_job_key())
        say(f"{parsed.file}: give it to every host of the job as --key FILE, or as PERFTUI_JOB_KEY")
        return 0
    write_key(parsed.file, read_key(parsed.of).for_role("command" if parsed.may_command else "watch"))
    say(f"{parsed.file}: perftui --at HOST --key FILE looks at the run that HOST leads")
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
