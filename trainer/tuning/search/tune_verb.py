"""`perftui tune`: from a command, a run that has ended or an earlier search to a proven gain, or none.

The search runs in this process; its trials end with it. What it finds is in the ledger as it goes.
"""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.errors import NoSuchRun, Refused, UsageError
from perftui.ipc.harmless import harmless, harmless_json
from perftui.ipc.pid_space import boot_id
from perftui.ipc.places import current_folder, ledger_path, run_places
from perftui.ipc.run_files import RunDescription, read_record, write_bytes
from perftui.ipc.search_records import SEARCH_ID_PREFIX, SearchEntry, SearchPlan, Sitting
from perftui.ipc.settings import Semantics, Settings, SettingValue, environment_of
from perftui.trainer.launch.environment_line import environment_line
from perftui.trainer.launch.run_names import name_of, new_run_id
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import check_launch, exit_of, require_seen
from perftui.trainer.tuning.alone import measuring_alone, require_free_gpus
from perftui.trainer.tuning.measure import Progress
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.program import with_program
from perftui.trainer.tuning.provenance import commit_of, versions_of
from perftui.trainer.tuning.search.carry_out import Search
from perftui.trainer.tuning.search.ending import exit_code
from perftui.trainer.tuning.search.host_at_rest import crowd_words
from perftui.trainer.tuning.search.next_move import MOST_LAUNCHES, MOST_TRIALS, LaunchMove
from perftui.trainer.tuning.search.proposals import Choice
from perftui.trainer.tuning.search.search_document import TuneDocument, search_document
from perftui.trainer.tuning.search.search_ledger import open_search_ledger
from perftui.trainer.tuning.search.search_lines import SearchLines, end_lines, ladder
from perftui.trainer.tuning.search.shared_progress import SharedProgress
from perftui.trainer.tuning.search.state import SearchState, fold, same_program
from perftui.trainer.tuning.subject import check_words, not_owned
from perftui.trainer.tuning.trial_command import HARMLESS


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    command: list[str] = field(default_factory=list[str])
    run_id: str | None = None
    """Of a run that has ended, whose command is tuned."""
    resume: str | None = None
    """A search to take up again, by its id, its beginning or its name; empty: the newest one that fits."""
    name: str | None = None
    baseline: Settings = field(default_factory=dict[str, SettingValue])
    arguments: dict[str, ArgumentTemplate] = field(default_factory=dict[str, ArgumentTemplate])
    allow: Semantics | None = None
    most_trials: int | None = None
    most_minutes: float | None = None
    gpu_readings: bool = True
    yes: bool = False
    beside: bool = False
    """Also on a GPU on which a live run trains."""
    json_target: str | None = None


def tune_verb(asked: Asked, ask: Callable[[str], str] | None, caps: Caps | None = None) -> int:
    """Search, and return the exit code.

    Args:
        asked: what for.
        ask: asks a person; None where there is nobody to ask.
        caps: how long launches may take; None: by the training's own step time.

    Raises:
        UsageError, NoSuchRun, Refused, CommandNotFound: nothing was launched.
        PerftuiError: a trial could not be stopped, or the ledger cannot be written.
    """
    lines = SearchLines(_to_stderr, is_terminal=sys.stderr.isatty())
    with measuring_alone():
        state = _taken_up(asked, lines) if asked.resume is not None else _begun(asked, lines)
        if not asked.beside:
            require_free_gpus({**os.environ, **environment_of(state.plan.baseline)})
        sitting = _sitting(asked, state)
        changed = _changed_since(state.sitting, sitting) if state.sitting is not None else None
        if changed is not None:
            lines.line(changed)
        for text in _preview(state, sitting):
            lines.line(text)
        crowd = crowd_words()
        if crowd is not None:
            lines.line(crowd)
        if not asked.yes and not _agreed(ask):
            raise Refused("not agreed to: nothing was launched; `--yes` agrees beforehand")
        if asked.resume is None:
            with open_search_ledger(ledger_path()) as ledger:
                ledger.begin_search(state.plan)
        lines.line(f"on a screen, from anywhere on this host: perftui tune --watch {state.plan.search_id}")
        with _interruptible() as given_up, closing(SharedProgress(state.plan.search_id)) as shared:

            def progress(state: SearchState, move: LaunchMove) -> Progress:
                return shared.of(move, lines.progress(state, move))

            def take(state: SearchState, entry: SearchEntry) -> None:
                shared.tell(None)
                lines.take(state, entry)

            search = Search(state, sitting, take, progress, given_up.is_set, lines.line, caps)
            state = search.run()
    print_search(state, search.choice, asked.json_target)
    return exit_code(state, state.ended.reason) if state.ended else 1


def print_search(state: SearchState, choice: Choice, json_target: str | None) -> None:
    """Print a search as it stands, and write it as JSON where that is wanted; `-`: to standard output."""
    out = _to_stderr if json_target == "-" else _to_stdout
    out(harmless("".join(f"{text}\n" for text in end_lines(state, choice))))
    _write_json(json_target, search_document(state, choice))


def _begun(asked: Asked, lines: SearchLines) -> SearchState:
    """Return a search of which nothing has been done."""
    plan = _of_run(asked) if asked.run_id is not None else _of_command(asked)
    return _checked(plan, lines)


def _checked(plan: SearchPlan, lines: SearchLines) -> SearchState:
    """Ask the command's interpreter whether it can be launched, and note where the measurements come from."""
    cwd = Path(plan.cwd)
    check = check_launch(LaunchSpec(command=plan.command, cwd=cwd))
    lines.line(environment_line(check))
    commit, dirty = commit_of(cwd)
    plan = msgspec.structs.replace(
        plan, interpreter=check.path, commit=commit, dirty=dirty, versions=versions_of(check.path)
    )
    return fold(plan, [])


def _of_command(asked: Asked) -> SearchPlan:
    if not asked.command:
        raise UsageError("nothing to tune; name a command, as in: perftui tune -- python train.py")
    name = asked.name or name_of(asked.command)
    return _plan(asked, name, asked.command, current_folder(), asked.baseline, asked.arguments)


def _of_run(asked: Asked) -> SearchPlan:
    places = run_places(asked.run_id or "")
    description = read_record(places.description, RunDescription)
    if description is None:
        raise NoSuchRun(f"no run {asked.run_id!r}; `perftui ls` lists them")
    if not description.owned:
        raise Refused(not_owned(description, asked.baseline))
    require_seen(description, places)
    if exit_of(places) is None:
        raise Refused(
            f"{description.run_id} goes on: its trials would run beside it, and measure each other; stop it "
            f"(perftui stop {description.run_id}), then: perftui tune {description.run_id}"
        )
    baseline = {**description.settings, **asked.baseline}
    arguments = {**description.arguments, **asked.arguments}
    name = asked.name or description.name
    plan = _plan(asked, name, description.command, Path(description.cwd), baseline, arguments)
    return msgspec.structs.replace(
        plan, gpu_readings=description.gpu_readings, gpu_interval_s=description.gpu_interval_s
    )


def _plan(
    asked: Asked,
    name: str,
    command: list[str],
    cwd: Path,
    baseline: Settings,
    arguments: dict[str, ArgumentTemplate],
) -> SearchPlan:
    check_words(command, str(cwd))
    return SearchPlan(
        search_id=new_run_id(f"{SEARCH_ID_PREFIX}{name}"),
        unix=time.time(),
        host=socket.gethostname(),
        name=name,
        command=command,
        cwd=str(cwd),
        baseline=baseline,
        arguments=arguments,
        gpu_readings=asked.gpu_readings,
    )


def _taken_up(asked: Asked, lines: SearchLines) -> SearchState:
    """Return an earlier search as it stands, and say what is there.

    Raises:
        NoSuchRun: there is none that fits.
    """
    with open_search_ledger(ledger_path()) as ledger:
        plan = _chosen(asked, ledger.plans(socket.gethostname()))
        entries = ledger.entries(plan.search_id)
    check = check_launch(LaunchSpec(command=plan.command, cwd=Path(plan.cwd)))
    state = fold(msgspec.structs.replace(plan, interpreter=check.path), entries)
    lines.line(f"{plan.search_id}: {' '.join(plan.command)}")
    for text in ladder(state):
        lines.line(f"  {text}")
    if state.open is not None:
        lines.line(f"  broken off in the middle of a comparison with {len(state.open.measured)} launches")
    return state


def _changed_since(before: Sitting, now: Sitting) -> str | None:
    """Say that the program is another one than in the last sitting, or on other GPUs; None: it is not."""
    if same_program(before, now):
        return None
    what = "the script, its versions or the interpreter are other ones now"
    if before.commit != now.commit:
        what = f"the commit is another one now ({_short(before.commit)} then, {_short(now.commit)} now)"
    elif before.devices != now.devices:
        what = f"other GPUs are visible now ({before.devices or 'all'} then, {now.devices or 'all'} now)"
    return (
        f"  {what}: no launch of then is compared with one of now; verdicts of then count as they are, and a "
        "search without --resume begins anew"
    )


def _short(commit: str | None) -> str:
    return "none" if commit is None else commit[:8]


def _chosen(asked: Asked, plans: list[SearchPlan]) -> SearchPlan:
    """Return the newest search that a word or a command means."""
    word = asked.resume or ""
    if asked.command:
        folder = str(current_folder())
        plans = [each for each in plans if each.command == asked.command and each.cwd == folder]
    found = [each for each in plans if each.search_id.startswith(word) or each.name == word]
    if not found:
        what = f"{word!r}" if word else "that command" if asked.command else "this host"
        raise NoSuchRun(f"no search of {what} in the ledger; begin one with: perftui tune -- python train.py")
    return found[0]


def _sitting(asked: Asked, state: SearchState) -> Sitting:
    """Return how far this sitting may go; what is not said stays as it was the last time."""
    before, plan = state.sitting, state.plan
    allow = asked.allow or (before.allow if before else "neutral")
    sitting = Sitting(
        unix=time.time(),
        boot_id=boot_id() or "",
        allow=allow,
        most_trials=asked.most_trials or (before.most_trials if before else MOST_TRIALS),
        most_minutes=asked.most_minutes,
        versions=versions_of(plan.interpreter),
    )
    return with_program(sitting, plan)


def _preview(state: SearchState, sitting: Sitting) -> list[str]:
    plan = state.plan
    minutes = "" if sitting.most_minutes is None else f", {sitting.most_minutes:g} min at most"
    done = f" ({len(state.trials)} done)" if state.trials else ""
    return [
        f"$ {' '.join(plan.command)}",
        f"{plan.search_id}: up to {sitting.most_trials} changes{done}, one at a time, each by 2 to "
        f"{MOST_LAUNCHES} fresh launches{minutes}; allowed: {_allowed(sitting.allow)}",
        HARMLESS,
    ]


def _allowed(allow: Semantics) -> str:
    if allow == "neutral":
        return "what leaves the arithmetic as it is"
    if allow == "numeric":
        return "also what rounds otherwise (losses are compared)"
    return "also what makes it another training"


def _agreed(ask: Callable[[str], str] | None) -> bool:
    return ask is not None and ask("Launch trials of this command? [y/N] ").strip().lower() in ("y", "yes")


@contextlib.contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Let SIGINT, SIGTERM and a lost terminal break the search off in good order."""
    given_up = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, lambda *_: given_up.set())
    try:
        yield given_up
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _to_stderr(text: str) -> None:
    with contextlib.suppress(OSError):  # a terminal that is gone must not end the search
        sys.stderr.write(text)
        sys.stderr.flush()


def _to_stdout(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _write_json(target: str | None, document: TuneDocument) -> None:
    if target is None:
        return
    data = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    if target == "-":
        _to_stdout(harmless_json(data.decode()))
    else:
        write_bytes(Path(target), data)
