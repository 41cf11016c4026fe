"""The arguments of every verb: what may be written, and the help. Imports nothing heavy."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from perftui.ipc.errors import UsageError

ENDED_SHOWN = 10
"""How many ended runs `perftui ls` lists."""


_PRESETS = (
    ("shapes", "record the shapes of operators' inputs as well"),
    ("memory", "record allocations; on a GPU also the allocator's history, for torch's memory viewer"),
    ("stacks", "record Python stacks; the dearest"),
)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line instead of a page."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = _Parser(
        prog="perftui",
        description="See why a PyTorch training is slow, change one thing, and know whether it helped.",
        epilog="`perftui [RUN] [--read-only] [--ascii]` alone opens a dashboard on a run, and `perftui --at "
        "HOST --key FILE` on a run over several hosts that HOST leads. Exit codes: "
        "0 fine, 2 usage, 3 no such run, 4 refused, 127 command not found; `run` returns the training's own "
        "code.",
    )
    top.add_argument("--version", action="version", version=_version())
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_run(verbs)
    _add_tune(verbs)
    _add_queries(verbs)
    _add_actions(verbs)
    return top


if TYPE_CHECKING:
    _Verbs = argparse._SubParsersAction[_Parser]


def dashboard_parser() -> argparse.ArgumentParser:
    """Return the parser of `perftui [RUN]`, which has no verb."""
    alone = _Parser(prog="perftui", add_help=False)
    alone.add_argument("runs", nargs="*", metavar="RUN")
    alone.add_argument("--at", metavar="HOST[:PORT]", help="the lead hub of a run over several hosts")
    alone.add_argument("--key", type=Path, metavar="FILE", help="a key of that run")
    _add_screen(alone)
    return alone


def _add_screen(parser: argparse.ArgumentParser, *, read_only: bool = True) -> None:
    parser.add_argument(
        "--ascii", action="store_true", help="draw with ASCII; by itself where the locale is not UTF-8"
    )
    if read_only:
        parser.add_argument(
            "--read-only", action="store_true", help="a dashboard whose keys change nothing: it only looks"
        )


def _add_run(verbs: "_Verbs") -> None:
    run = verbs.add_parser("run", help="start a training under supervision: perftui run -- python train.py")
    run.add_argument("--no-tui", action="store_true", help="pass the output through, open no dashboard")
    run.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="alter a setting")
    run.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="NAME=TEMPLATE",
        help="how the script takes what arg.NAME sets: batch_size='--batch-size {value}'",
    )
    run.add_argument("--steps", type=int, metavar="N", help="stop after N steps past the warm-up")
    run.add_argument("--seconds", type=float, metavar="S", help="stop S seconds past the warm-up")
    run.add_argument("--json", metavar="FILE", help="write the summary at the end; - for stdout")
    run.add_argument("--name", help="a name for the run; else it is taken from the command")
    run.add_argument("--no-nvml", action="store_true", help="leave the GPU libraries alone: no GPU figures")
    run.add_argument(
        "--gpu-interval", type=float, metavar="S", help="seconds between two readings of the GPUs (0.25)"
    )
    run.add_argument(
        "--profile-every", metavar="EVERY:STEPS", help="a profiling window at every n-th step, as in 500:3"
    )
    run.add_argument(
        "--profile-on-jump",
        metavar="SHARE",
        help="a window when the step time has risen by so much, as in 30%%",
    )
    run.add_argument(
        "--profile-most", type=int, metavar="N", help="windows of both kinds together over the run (10)"
    )
    _add_hosts(run)
    look = run.add_mutually_exclusive_group()
    look.add_argument(
        "--look",
        action="store_true",
        help="one window about half way; by itself with --no-tui, --seconds and --json",
    )
    look.add_argument("--no-window", action="store_true", help="no such window")
    _add_screen(run)
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD")


def _add_hosts(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--lead",
        metavar="ADDRESS[:PORT]",
        help="of several hosts this is the first: others join it at this address of it",
    )
    run.add_argument("--join", metavar="HOST[:PORT]", help="join the run that HOST leads")
    run.add_argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="the job's key; without --lead and --join the launcher's own words and variables say who leads",
    )


def _add_tune(verbs: "_Verbs") -> None:
    tune = verbs.add_parser(
        "tune",
        help="search for faster settings by trials: perftui tune -- python train.py",
        epilog="Exit codes: 0 an answer (also: nothing is worth changing), 1 the training cannot be "
        "measured, 4 refused or too noisy, 130 broken off.",
    )
    tune.add_argument("run", nargs="?", help="a run that has ended, whose command is tuned")
    tune.add_argument("--name", help="a name for the search; else it is taken from the command")
    tune.add_argument(
        "--allow",
        choices=("neutral", "numeric", "changes-training"),
        help="what a change may do to the training: nothing (neutral, the default), round otherwise, or more",
    )
    tune.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="begin with a setting")
    tune.add_argument(
        "--map", action="append", default=[], metavar="NAME=TEMPLATE", help="as for perftui run"
    )
    tune.add_argument("--most-trials", type=int, metavar="N", help="changes to measure at most (10)")
    tune.add_argument("--minutes", type=float, metavar="M", help="stop after so long; --resume goes on")
    tune.add_argument(
        "--resume", nargs="?", const="", metavar="SEARCH", help="go on with a search, the newest if not said"
    )
    tune.add_argument("--no-nvml", action="store_true", help="leave the GPU libraries alone: no GPU figures")
    tune.add_argument("--json", nargs="?", const="-", metavar="FILE", help="the result as one JSON document")
    tune.add_argument("--yes", action="store_true", help="do not ask")
    tune.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD")


def _add_queries(verbs: "_Verbs") -> None:
    listing = verbs.add_parser("ls", help="list the runs of this user on this host")
    listing.add_argument("--all", action="store_true", help=f"not only the newest {ENDED_SHOWN} ended ones")
    status = verbs.add_parser("status", help="one snapshot of a run")
    status.add_argument("run", nargs="?")
    ledger = verbs.add_parser("ledger", help="what was measured so far, and what came out")
    ledger.add_argument("--limit", type=int, default=20, metavar="N")
    report = verbs.add_parser("report", help="a report of a run to send to somebody, on standard output")
    report.add_argument("run", nargs="?")
    report.add_argument(
        "--format", choices=("md", "html", "json"), metavar="md|html|json", help="Markdown if not said"
    )
    compare = verbs.add_parser("compare", help="whether recorded run B was faster than recorded run A")
    compare.add_argument("a", metavar="A")
    compare.add_argument("b", metavar="B")
    doctor = verbs.add_parser("doctor", help="check this environment; after --, the command that is meant")
    doctor.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD")
    for query in (listing, status, ledger, report, compare, doctor):
        query.add_argument("--json", action="store_true", help="one JSON document")
    key = verbs.add_parser("key", help="make the key of a job that runs on several hosts, or one for looking")
    key.add_argument("file", type=Path, metavar="FILE", help="is made, readable by its owner alone")
    key.add_argument("--of", type=Path, metavar="JOBKEY", help="a key that looks at the job of this one")
    key.add_argument("--may-command", action="store_true", help="with --of: it also stops and profiles")
    verbs.add_parser("env", help='exports that arm later starts in this shell: eval "$(perftui env)"')


def _add_actions(verbs: "_Verbs") -> None:
    stop = verbs.add_parser("stop", help="stop a run: asked first, killed only in the end")
    stop.add_argument("run")
    stop.add_argument("--now", action="store_true", help="give no time for a checkpoint")
    profile = verbs.add_parser("profile", help="open one profiling window and print its result")
    profile.add_argument("run", nargs="?")
    profile.add_argument("--steps", type=int, default=3, metavar="N")
    profile.add_argument("--ranks", default="all", metavar="all|0,3", help="whose traces are kept")
    profile.add_argument("--timeout", type=float, default=600.0, metavar="S")
    profile.add_argument(
        "--cancel", action="store_true", help="end the window that is open, without a result"
    )
    preset = profile.add_mutually_exclusive_group()
    for name, what in _PRESETS:
        preset.add_argument(
            f"--{name}", dest="preset", action="store_const", const=name, default="light", help=what
        )
    relaunch = verbs.add_parser("relaunch", help="measure one change by trials and go on with the winner")
    relaunch.add_argument("run")
    relaunch.add_argument("--set", action="append", required=True, metavar="NAME=VALUE")
    relaunch.add_argument("--no-trial", action="store_true", help="switch at once, unmeasured")
    relaunch.add_argument("--yes", action="store_true", help="do not ask")
    for action in (stop, profile, relaunch):
        action.add_argument("--json", action="store_true", help="one JSON document")
    trace = verbs.add_parser(
        "trace", help="analyse traces of torch.profiler, from anywhere, on a screen or as text"
    )
    trace.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="a trace a rank, or a folder of them"
    )
    trace.add_argument("--ranks", default="all", metavar="all|0,3", help="which ranks to report")
    trace.add_argument(
        "--before",
        type=Path,
        metavar="FILE",
        help="a trace, or a folder of them, to compare with on the screen",
    )
    trace.add_argument("--json", action="store_true", help="one JSON document")
    _add_screen(trace, read_only=False)
    demo = verbs.add_parser("demo", help="a built-in demonstration")
    demo.add_argument("name", nargs="?", default="starved")
    demo.add_argument("--list", action="store_true", help="say which there are")
    demo.add_argument("--no-tui", action="store_true", help="the whole loop as lines of text")
    _add_screen(demo)
    demo.add_argument("--json", action="store_true", help="the result as one JSON document; implies --no-tui")
    replay = verbs.add_parser("replay", help="show a recorded run")
    replay.add_argument("file", type=Path)
    replay.add_argument("--speed", type=float, default=1.0, metavar="X")
    replay.add_argument("--at-end", action="store_true", help="show the last picture")
    _add_screen(replay, read_only=False)


def _version() -> str:
    from importlib.metadata import version

    return f"perftui {version('perftui')}"
