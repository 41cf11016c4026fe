"""The arguments of every verb: what may be written, and the help. Imports nothing heavy."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from perftui.ipc.errors import UsageError

ENDED_SHOWN = 10
"""How many ended runs `perftui ls` lists."""


_TYPED = "what you would type without perftui"
_WHICH_RUN = "id of a run, the beginning of one, or its name: perftui ls lists them"
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
        epilog="First: `perftui demo` shows it on a script of its own, `perftui run -- python train.py` on "
        "yours; `perftui doctor` says what is missing. `perftui [RUN] [--read-only] [--ascii] "
        "[--config FILE]` alone opens a dashboard on a run; RUN is its id, the beginning of one, or a name; "
        "`perftui --at HOST --key FILE` one on a run over several hosts that HOST leads. "
        "Exit codes: 0 fine, 1 it failed, 2 usage, 3 no such run, 4 refused, 127 command not found, "
        "130 interrupted; `run` returns the training's own code, or 0 when its dashboard is left while it "
        "goes on.",
    )
    top.add_argument("--version", action="version", version=_version())
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_run(verbs)
    _add_tune(verbs)
    _add_queries(verbs)
    _add_actions(verbs)
    return top


def whole_command(before: list[str], after: list[str]) -> list[str]:
    """Return the command of which the first `--` of a command line follows on `before`.

    Where a command had begun before it, it is the command's own: `perftui run uv run -- python train.py`.
    """
    return [*before, "--", *after] if before else after


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
    _add_config(parser)
    parser.add_argument(
        "--ascii", action="store_true", help="draw with ASCII; by itself where the locale is not UTF-8"
    )
    if read_only:
        parser.add_argument(
            "--read-only", action="store_true", help="a dashboard whose keys change nothing: it only looks"
        )


def _verb(verbs: "_Verbs", name: str, what: str, epilog: str | None = None) -> _Parser:
    """Add a verb, of which the list of verbs and its own help say the same."""
    return verbs.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}", epilog=epilog)


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="your configuration; `perftui config` tells where it is"
    )


def _add_run(verbs: "_Verbs") -> None:
    run = _verb(verbs, "run", "start a training under supervision: perftui run -- python train.py")
    run.add_argument("--no-tui", action="store_true", help="pass the output through, open no dashboard")
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="alter a setting for this run, as in loader.num_workers=4",
    )
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
        help="one profiling window about half way; by itself with --no-tui, --seconds and --json",
    )
    look.add_argument("--no-window", action="store_true", help="no such window")
    _add_screen(run)
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD", help=_TYPED)


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


_BESIDE = "measure also on a GPU on which a live run of yours trains"


def _add_tune(verbs: "_Verbs") -> None:
    tune = _verb(
        verbs,
        "tune",
        "search for faster settings by trials: perftui tune -- python train.py",
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
    tune.add_argument(
        "--watch",
        nargs="?",
        const="",
        metavar="SEARCH",
        help="look at a search as it runs or ended, the newest if not said; changes nothing",
    )
    _add_screen(tune, read_only=False)
    tune.add_argument("--no-nvml", action="store_true", help="leave the GPU libraries alone: no GPU figures")
    tune.add_argument("--json", nargs="?", const="-", metavar="FILE", help="the result as one JSON document")
    tune.add_argument("--yes", action="store_true", help="do not ask")
    tune.add_argument("--beside", action="store_true", help=_BESIDE)
    tune.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD", help=_TYPED)


def _add_optional_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", help=f"{_WHICH_RUN}; left out: the one that runs")


def _add_queries(verbs: "_Verbs") -> None:
    listing = _verb(verbs, "ls", "list the runs of this user on this host")
    listing.add_argument("--all", action="store_true", help=f"not only the newest {ENDED_SHOWN} ended ones")
    status = _verb(verbs, "status", "one snapshot of a run")
    _add_optional_run(status)
    ledger = _verb(verbs, "ledger", "what was measured so far, and what came out")
    ledger.add_argument("--limit", type=int, default=20, metavar="N", help="lines at most (20)")
    report = _verb(verbs, "report", "a report of a run to send to somebody, on standard output")
    _add_optional_run(report)
    report.add_argument(
        "--format", choices=("md", "html", "json"), metavar="md|html|json", help="Markdown if not said"
    )
    compare = _verb(verbs, "compare", "whether recorded run B was faster than recorded run A")
    compare.add_argument("a", metavar="A", help=_WHICH_RUN)
    compare.add_argument("b", metavar="B", help="the other one")
    doctor = _verb(verbs, "doctor", "check this environment; after --, the command that is meant")
    doctor.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD", help=_TYPED)
    for query in (listing, status, ledger, report, compare, doctor):
        query.add_argument("--json", action="store_true", help="one JSON document")
    key = _verb(verbs, "key", "make the key of a job that runs on several hosts, or one for looking")
    key.add_argument("file", type=Path, metavar="FILE", help="is made, readable by its owner alone")
    key.add_argument("--of", type=Path, metavar="JOBKEY", help="a key that looks at the job of this one")
    key.add_argument("--may-command", action="store_true", help="with --of: it also stops and profiles")
    _verb(verbs, "env", 'exports that arm later starts in this shell: eval "$(perftui env)"')
    config = _verb(verbs, "config", "your configuration of the screens: where it is, and what may be in it")
    _add_config(config)
    config.add_argument(
        "--write", action="store_true", help="create the file; one that is there stays as it is"
    )
    config.add_argument("--json", action="store_true", help="what is in force, as one JSON document")


def _add_actions(verbs: "_Verbs") -> None:
    stop = _verb(verbs, "stop", "stop a run: asked first, killed only in the end")
    stop.add_argument("run", help=_WHICH_RUN)
    stop.add_argument("--now", action="store_true", help="give no time for a checkpoint")
    profile = _verb(verbs, "profile", "open one profiling window and print its result")
    _add_optional_run(profile)
    profile.add_argument("--steps", type=int, default=3, metavar="N", help="steps to record (3)")
    profile.add_argument("--ranks", default="all", metavar="all|0,3", help="whose traces are kept")
    profile.add_argument("--timeout", type=float, default=600.0, metavar="S", help="seconds to wait (600)")
    profile.add_argument(
        "--cancel", action="store_true", help="end the window that is open, without a result"
    )
    preset = profile.add_mutually_exclusive_group()
    for name, what in _PRESETS:
        preset.add_argument(
            f"--{name}", dest="preset", action="store_const", const=name, default="light", help=what
        )
    relaunch = _verb(verbs, "relaunch", "measure one change by trials and go on with the winner")
    relaunch.add_argument("run", help=_WHICH_RUN)
    relaunch.add_argument(
        "--set",
        action="append",
        required=True,
        metavar="NAME=VALUE",
        help="the setting to alter, as in loader.num_workers=4; several are one change",
    )
    relaunch.add_argument("--no-trial", action="store_true", help="switch at once, unmeasured")
    relaunch.add_argument("--yes", action="store_true", help="do not ask")
    relaunch.add_argument("--beside", action="store_true", help=_BESIDE)
    for action in (stop, profile, relaunch):
        action.add_argument("--json", action="store_true", help="one JSON document")
    trace = _verb(verbs, "trace", "analyse traces of torch.profiler, from anywhere, on a screen or as text")
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
    demo = _verb(verbs, "demo", "a built-in demonstration")
    demo.add_argument("name", nargs="?", default="starved", help="starved, if not said")
    demo.add_argument("--list", action="store_true", help="say which there are")
    demo.add_argument("--no-tui", action="store_true", help="the whole loop as lines of text")
    _add_screen(demo)
    demo.add_argument("--json", action="store_true", help="the result as one JSON document; implies --no-tui")
    replay = _verb(verbs, "replay", "show a recorded run")
    replay.add_argument("file", type=Path, help="a run, or the folder of its recording")
    replay.add_argument("--speed", type=float, default=1.0, metavar="X", help="times as fast (1)")
    replay.add_argument("--at-end", action="store_true", help="show the last picture")
    _add_screen(replay, read_only=False)


def _version() -> str:
    from importlib.metadata import version

    return f"perftui {version('perftui')}"
