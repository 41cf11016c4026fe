"""The command line: every verb, its arguments and its exit code.

The only file of this room that may import the trainer's. Everything heavy is imported where it is used, so
that `--help` and `run` start fast and Textual is loaded only when a dashboard opens.
"""

import argparse
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perftui.ipc.errors import NoSuchRun, PerftuiError, Refused, UsageError
from perftui.tui.arguments import ENDED_SHOWN, parser

if TYPE_CHECKING:
    from perftui.ipc.run_lines import RunLine
    from perftui.trainer.launch.spec import LaunchSpec


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _dispatch(words)
    except PerftuiError as error:
        _say(str(error))
        return error.exit_code
    except SystemExit as finished:  # argparse, after --help
        return int(finished.code or 0)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _dispatch(words: list[str]) -> int:
    ours, command = words, None
    if "--" in words:
        cut = words.index("--")
        ours, command = words[:cut], words[cut + 1 :]
    if not ours or (ours[0] not in _VERBS and not ours[0].startswith("-")):
        return _attach(ours[0] if ours else None, ours[1:])
    parsed = parser().parse_args(ours)
    if command is not None:
        if parsed.verb not in ("run", "doctor"):
            raise UsageError(f"perftui {parsed.verb} takes no command after --")
        parsed.command = command
    return _VERBS[parsed.verb](parsed)


def _attach(word: str | None, rest: list[str]) -> int:
    from perftui.trainer.launch.runs import find_run, list_runs, only_run, watchable

    if rest:
        raise UsageError(f"{word}: no such verb, and a dashboard takes one run; see perftui --help")
    lines = list_runs()
    if _no_dashboard() is not None:
        return _print_runs_and_hint(lines, word)
    if word is not None:
        return _open(find_run(word, lines))
    live = watchable(lines)
    if len(live) < 2:
        return _open(live[0] if live else only_run(lines))
    from perftui.tui.picker import pick_run

    _check_size()
    chosen = pick_run(live)
    return 0 if chosen is None else _open(find_run(chosen, lines))


def _open(line: "RunLine") -> int:
    """Open a dashboard on a live run, or on the recording of one that has ended."""
    _check_size()
    from perftui.trainer.launch.runs import has_hub

    run_dashboard = _dashboard()

    if line.running or has_hub(line.run_id):
        return run_dashboard(line.run_id)
    from perftui.ipc.places import run_places
    from perftui.trainer.launch.replay import replayed

    with replayed(run_places(line.run_id).state, at_end=True) as run_id:
        return run_dashboard(run_id)


def _dashboard() -> "Callable[[str], int]":
    """Load the dashboard."""
    gc.disable()  # hundreds of modules are loaded, and none of them is garbage
    from perftui.tui.app import run_dashboard

    gc.freeze()
    gc.enable()
    return run_dashboard


def _print_runs_and_hint(lines: "list[RunLine]", word: str | None) -> int:
    if word is not None:
        from perftui.trainer.launch.runs import find_run

        run_id = find_run(word, lines).run_id
        raise Refused(f"{_no_dashboard()}; a snapshot without one: perftui status {run_id}")
    if not lines:
        raise NoSuchRun("no run of yours on this host; start one: perftui run -- python train.py")
    _print_runs(lines)
    _say(f"{_no_dashboard()}; try: perftui status RUN, perftui run -- python train.py")
    return 0


def _run(parsed: argparse.Namespace) -> int:
    from perftui.ipc.profile_schedule import schedule_in, schedule_of
    from perftui.ipc.settings import parse_assignments
    from perftui.trainer.launch.foreground import run_in_foreground
    from perftui.trainer.launch.project_file import mapped_arguments
    from perftui.trainer.launch.spec import LaunchSpec
    from perftui.trainer.telemetry.gpu_rates import INTERVAL_VARIABLE, check_interval, interval_of

    for name in ("steps", "seconds"):
        value = getattr(parsed, name)
        if value is not None and value <= 0:
            raise UsageError(f"--{name} {value}: expected a number above 0")
    headless = parsed.no_tui or _no_dashboard() is not None
    asked_s = parsed.gpu_interval
    interval_s = (
        interval_of(os.environ.get(INTERVAL_VARIABLE))
        if asked_s is None
        else check_interval(asked_s, "--gpu-interval")
    )
    schedule = schedule_of(parsed.profile_every, parsed.profile_on_jump, parsed.profile_most)
    arguments = mapped_arguments(Path.cwd(), parsed.map)
    spec = LaunchSpec(
        command=parsed.command,
        cwd=Path.cwd(),
        settings=parse_assignments(parsed.set, arguments),
        arguments=arguments,
        name=parsed.name,
        steps_limit=parsed.steps,
        seconds_limit=parsed.seconds,
        stdio="pipes" if headless else "pty",
        gpu_readings=not parsed.no_nvml,
        gpu_interval_s=interval_s,
        profile_schedule=schedule or schedule_in(os.environ),
    )
    return run_in_foreground(spec, parsed.json) if headless else _run_with_dashboard(spec, parsed.json)


def _run_with_dashboard(spec: "LaunchSpec", json_target: str | None) -> int:
    from perftui.trainer.launch.foreground import after_dashboard, start_for_dashboard

    _check_size()
    places = start_for_dashboard(spec)
    run_dashboard = _dashboard()
    code = run_dashboard(places.run_id)
    return code or after_dashboard(places, json_target)


def _ls(parsed: argparse.Namespace) -> int:
    import msgspec

    from perftui.ipc.run_lines import RunList
    from perftui.trainer.launch.runs import list_runs

    lines = list_runs()
    if not parsed.all:
        ended = [line for line in lines if not line.running][:ENDED_SHOWN]
        lines = [line for line in lines if line.running or line in ended]
    if parsed.json:
        _print(msgspec.json.format(msgspec.json.encode(RunList(runs=lines)), indent=1).decode())
    else:
        _print_runs(lines)
    return 0


def _print_runs(lines: "list[RunLine]") -> None:
    import time

    from perftui.trainer.launch.plain_text import runs_table

    if lines:
        _print("\n".join(runs_table(lines, time.time())))
    else:
        _say("no runs yet; start one with: perftui run -- python train.py")


def _chosen(word: str | None) -> "RunLine":
    from perftui.trainer.launch.runs import find_run, list_runs, only_run

    lines = list_runs()
    return only_run(lines) if word is None else find_run(word, lines)


def _status(parsed: argparse.Namespace) -> int:
    import json

    from perftui.trainer.launch.live import summary_of
    from perftui.trainer.launch.plain_text import status_text

    summary = summary_of(_chosen(parsed.run)).decode()
    _print(summary.rstrip("\n") if parsed.json else "\n".join(status_text(json.loads(summary))))
    return 0


def _stop(parsed: argparse.Namespace) -> int:
    from perftui.trainer.launch.live import stop

    line = _chosen(parsed.run)
    record = stop(line, at_once=parsed.now)
    if parsed.json:
        _print_struct(record)
    else:
        survivors = f"; could not end {record.survivors}" if record.survivors else ""
        _print(f"{line.run_id}: {record.outcome}, exit code {record.exit_code}{survivors}")
    return 1 if record.survivors else 0


def _env(_parsed: argparse.Namespace) -> int:
    from perftui.trainer.launch.environment import exports

    _print("\n".join(exports(dict(os.environ))))
    if sys.stdout.isatty():
        _say('this is for a shell to read: eval "$(perftui env)"')
    return 0


def _profile(parsed: argparse.Namespace) -> int:
    from perftui.trainer.launch.live import cancel_profile, profile
    from perftui.trainer.launch.plain_text import profile_text

    if parsed.cancel:
        _print(cancel_profile(_chosen(parsed.run)).result)
        return 0
    if parsed.steps < 1:
        raise UsageError(f"--steps {parsed.steps}: expected a number above 0")
    ranks = None if parsed.ranks == "all" else _parse_ranks(parsed.ranks)
    done = profile(
        _chosen(parsed.run), steps=parsed.steps, ranks=ranks, preset=parsed.preset, timeout_s=parsed.timeout
    )
    if parsed.json:
        _print_document(done.profile or done)
    elif done.profile is not None:
        _print("\n".join(profile_text(done.profile)))
    else:
        _say(done.result)
    return 0 if done.ok else 1


def _parse_ranks(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"--ranks {text}: expected all, or numbers as in 0,3") from None


def _trace(parsed: argparse.Namespace) -> int:
    from perftui.trainer.profiling.report_text import report_text
    from perftui.trainer.profiling.trace_verb import reports_on_disk, trace_report

    ranks = None if parsed.ranks == "all" else _parse_ranks(parsed.ranks)
    if not parsed.json and _no_dashboard() is None:
        _check_size()
        with reports_on_disk(parsed.files, ranks, parsed.before, _say) as reports:
            from perftui.tui.trace_app import run_trace_app

            return run_trace_app(*reports)
    if parsed.before is not None:
        raise UsageError("--before is for the screen: it takes a terminal, and no --json")
    if parsed.json:
        _print_struct(trace_report(parsed.files, ranks))
    else:
        _print("\n".join(report_text(trace_report(parsed.files, ranks))))
    return 0


def _relaunch(parsed: argparse.Namespace) -> int:
    from perftui.ipc.places import run_places
    from perftui.ipc.run_files import RunDescription, read_record
    from perftui.ipc.settings import parse_assignments
    from perftui.trainer.tuning.relaunch_verb import relaunch_verb

    run_id = _chosen(parsed.run).run_id
    description = read_record(run_places(run_id).description, RunDescription)
    arguments = description.arguments if description else {}
    return relaunch_verb(
        run_id,
        parse_assignments(parsed.set, arguments),
        trial=not parsed.no_trial,
        yes=parsed.yes,
        json_target="-" if parsed.json else None,
        ask=_ask if sys.stdin.isatty() and sys.stderr.isatty() else None,
    )


def _ask(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline()


def _ledger(parsed: argparse.Namespace) -> int:
    from perftui.trainer.tuning.ledger_verb import run

    return run(limit=parsed.limit, as_json=parsed.json)


def _doctor(parsed: argparse.Namespace) -> int:
    from perftui.trainer.launch.doctor import examine, lines_of

    report = examine(parsed.command)
    if parsed.json:
        _print_struct(report)
    else:
        _print("\n".join(lines_of(report)))
    return report.exit_code


def _demo(parsed: argparse.Namespace) -> int:
    from perftui.trainer.launch.demo_stage import demo_lines, demo_spec

    if parsed.list:
        _print("\n".join(demo_lines()))
        return 0
    if not (parsed.no_tui or parsed.json or _no_dashboard() is not None):
        return _run_with_dashboard(demo_spec(parsed.name, "pty"), None)
    from perftui.trainer.launch.demo import run_demo

    return run_demo(parsed.name, as_json=parsed.json)


def _replay(parsed: argparse.Namespace) -> int:
    if parsed.speed <= 0:
        raise UsageError(f"--speed {parsed.speed:g}: expected a number above 0")
    from perftui.trainer.launch.replay import replayed, summary_of_recording

    if _no_dashboard() is not None:
        from perftui.trainer.launch.plain_text import status_text

        _print("\n".join(status_text(summary_of_recording(parsed.file))))
        return 0
    _check_size()
    run_dashboard = _dashboard()
    with replayed(parsed.file, at_end=parsed.at_end, speed=parsed.speed) as run_id:
        return run_dashboard(run_id)


def _no_dashboard() -> str | None:
    from perftui.trainer.launch.terminal_check import no_dashboard_because

    return no_dashboard_because(dict(os.environ))


def _check_size() -> None:
    from perftui.trainer.launch.terminal_check import too_small

    reason = too_small()
    if reason is not None:
        raise Refused(reason)


def _print_document(value: object) -> None:
    import msgspec

    _print_struct({"schema": 1, **msgspec.to_builtins(value)})


def _print_struct(value: object) -> None:
    import msgspec

    _print(msgspec.json.format(msgspec.json.encode(value), indent=1).decode())


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _say(text: str) -> None:
    sys.stderr.write(f"perftui: {text}\n")
    sys.stderr.flush()


_VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "ls": _ls,
    "status": _status,
    "stop": _stop,
    "env": _env,
    "profile": _profile,
    "trace": _trace,
    "relaunch": _relaunch,
    "ledger": _ledger,
    "doctor": _doctor,
    "demo": _demo,
    "replay": _replay,
}
