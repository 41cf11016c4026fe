"""The command line: which verb is meant, and the exit code of what goes wrong.

With `verbs/` the only part of this room that may import the trainer's. Nothing heavy is imported here, so
that `--help` and `run` start fast and Textual is loaded only when a dashboard opens.
"""

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence

from perftui.ipc.errors import PerftuiError, UsageError
from perftui.tui.arguments import dashboard_parser, parser, whole_command
from perftui.tui.standard_streams import (
    NO_ROOM,
    leave_stdout,
    open_closed_streams,
    write_what_can_be_read,
)
from perftui.tui.verbs import (
    configuration,
    dashboard,
    environment,
    live_runs,
    reports,
    starting,
    traces,
    tuning,
)
from perftui.tui.verbs.left_over import BEFORE_VERBS, tell_left_over
from perftui.tui.verbs.output import say

_VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": starting.run,
    "ls": live_runs.list_all,
    "status": live_runs.status,
    "stop": live_runs.stop,
    "env": environment.env,
    "key": environment.key,
    "config": configuration.config,
    "profile": live_runs.profile,
    "trace": traces.trace,
    "relaunch": tuning.relaunch,
    "tune": tuning.tune,
    "ledger": tuning.ledger,
    "report": reports.report,
    "compare": reports.compare,
    "doctor": environment.doctor,
    "demo": starting.demo,
    "replay": starting.replay,
}
_OF_DASHBOARD = ("--ascii", "--read-only", "--config", "--at", "--key")
_TAKE_A_COMMAND = ("run", "doctor", "tune")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    open_closed_streams()
    write_what_can_be_read()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _dispatch(words)
        sys.stdout.flush()
    except PerftuiError as error:
        say(str(error))
        return error.exit_code
    except SystemExit as finished:  # argparse, after --help
        return int(finished.code or 0)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        leave_stdout()
        return 141
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        leave_stdout()
        say(f"cannot write {error.filename or 'what was asked for'}: {error.strerror}")
        return 1
    return code


def _dispatch(words: list[str]) -> int:
    ours, command = words, None
    if "--" in words:
        cut = words.index("--")
        ours, command = words[:cut], words[cut + 1 :]
    if (
        not ours
        or ours[0].partition("=")[0] in _OF_DASHBOARD
        or (ours[0] not in _VERBS and not ours[0].startswith("-"))
    ):
        if command:
            raise UsageError(f"a dashboard takes no command; to train: perftui run -- {shlex.join(command)}")
        tell_left_over()
        return dashboard.attach(dashboard_parser().parse_args(ours))
    parsed = parser().parse_args(ours)
    if command is not None:
        if parsed.verb not in _TAKE_A_COMMAND:
            raise UsageError(f"perftui {parsed.verb} takes no command after --")
        parsed.command = whole_command(parsed.command, command)
    if parsed.verb in BEFORE_VERBS:
        tell_left_over()
    return _VERBS[parsed.verb](parsed)
