"""`ls`, `status`, `stop` and `profile`: the runs of this user on this host, and what can be asked of one."""

import argparse
from typing import TYPE_CHECKING

from perftui.ipc.errors import UsageError
from perftui.tui.arguments import ENDED_SHOWN
from perftui.tui.verbs.output import (
    say,
    write,
    write_document,
    write_json,
    write_json_text,
    write_lines,
)

if TYPE_CHECKING:
    from perftui.ipc.run_lines import RunLine


def list_all(parsed: argparse.Namespace) -> int:
    """List the runs."""
    from perftui.ipc.run_lines import RunList
    from perftui.trainer.launch.runs import list_runs

    lines = list_runs()
    if not parsed.all:
        ended = [line for line in lines if not line.running][:ENDED_SHOWN]
        lines = [line for line in lines if line.running or line in ended]
    if parsed.json:
        write_json(RunList(runs=lines))
    else:
        write_runs(lines)
    return 0


def write_runs(lines: "list[RunLine]") -> None:
    """Write runs as a table."""
    import time

    from perftui.trainer.launch.plain_text import runs_table

    if lines:
        write_lines(runs_table(lines, time.time()))
    else:
        say("no runs yet; start one with: perftui run -- python train.py")


def chosen_run(word: str | None) -> "RunLine":
    """Return the run that a word names, or the only one."""
    from perftui.trainer.launch.runs import find_run, list_runs, only_run

    lines = list_runs()
    return only_run(lines) if word is None else find_run(word, lines)


def status(parsed: argparse.Namespace) -> int:
    """Show one snapshot of a run."""
    import json

    from perftui.trainer.launch.live import summary_of
    from perftui.trainer.launch.plain_text import status_text

    summary = summary_of(chosen_run(parsed.run)).decode()
    if parsed.json:
        write_json_text(summary.rstrip("\n"))
    else:
        write_lines(status_text(json.loads(summary)))
    return 0


def stop(parsed: argparse.Namespace) -> int:
    """Stop a run by the ladder."""
    from perftui.trainer.launch.live import stop as stop_run

    line = chosen_run(parsed.run)
    record = stop_run(line, at_once=parsed.now)
    if parsed.json:
        write_json(record)
    else:
        survivors = f"; could not end {record.survivors}" if record.survivors else ""
        write(f"{line.run_id}: {record.outcome}, exit code {record.exit_code}{survivors}")
    return 1 if record.survivors else 0


def profile(parsed: argparse.Namespace) -> int:
    """Open one profiling window and print its result, or end the open one."""
    from perftui.trainer.launch.live import cancel_profile
    from perftui.trainer.launch.live import profile as open_window
    from perftui.trainer.launch.plain_text import profile_text

    if parsed.cancel:
        write(cancel_profile(chosen_run(parsed.run)).result)
        return 0
    if parsed.steps < 1:
        raise UsageError(f"--steps {parsed.steps}: expected a number above 0")
    ranks = parse_ranks(parsed.ranks)
    line = chosen_run(parsed.run)
    done = open_window(line, steps=parsed.steps, ranks=ranks, preset=parsed.preset, timeout_s=parsed.timeout)
    if parsed.json:
        write_document(done.profile or done)
    elif done.profile is not None:
        write_lines(profile_text(done.profile))
    else:
        say(done.result)
    return 0 if done.ok else 1


def parse_ranks(text: str) -> list[int] | None:
    """Read `0,3` as numbers and `all` as None."""
    if text == "all":
        return None
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"--ranks {text}: expected all, or numbers as in 0,3") from None
