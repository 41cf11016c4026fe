"""Clears up after relaunches whose process was killed, and says what became of them."""

import time

import msgspec

from perftui.ipc.errors import PerftuiError
from perftui.ipc.ledger_records import Comparison, Launch
from perftui.ipc.places import ledger_path, run_places
from perftui.ipc.run_files import read_record, write_record
from perftui.ipc.settings import format_value, semantics_of
from perftui.ipc.view import RelaunchView
from perftui.trainer.launch.orphans import clear_scratch, end_orphans
from perftui.trainer.launch.runs import has_hub
from perftui.trainer.tuning.journal import Underway, still_under_way, take_broken_off
from perftui.trainer.tuning.judge import failed_verdict
from perftui.trainer.tuning.ledger import open_ledger
from perftui.trainer.tuning.subject import run_command


def settle_broken_off() -> list[str]:
    """End what a killed relaunch left running, give the ledger its line, and return what to tell the user."""
    told = [settle(each) for each in take_broken_off(lambda each: not _has_hub(each))]
    told += [f"{run_id} was a trial that nobody measured any more: ended" for run_id in end_orphans()]
    clear_scratch()
    return told + [_goes_on(each) for each in still_under_way() if _is_unseen(each)]


def settle(broken: Underway) -> str:
    """Write the line of a relaunch that was broken off into the ledger, and return what to say of it."""
    end_orphans()
    launches = _launches(broken)
    doing = f"launch {len(broken.view.launches)}" if broken.view.launches else "its first launch"
    why = f"broken off at {doing}: the process that measured it was killed"
    troubles = _write_ledger(broken, why, launches)
    sentence = "; ".join([why, *_what_of_the_run(broken), *troubles])
    if broken.plan.run_id is not None:
        _close_view(broken, sentence)
    change = ", ".join(f"{name}={format_value(value)}" for name, value in broken.plan.set.items())
    return f"the measurement of {change} for {broken.plan.run_id or broken.name} was {sentence}"


def _launches(broken: Underway) -> list[Launch]:
    return [each.launch for each in broken.view.launches if each.launch is not None]


def _write_ledger(broken: Underway, why: str, launches: list[Launch]) -> list[str]:
    plan = broken.plan
    line = Comparison(
        comparison_id=broken.view.relaunch_id,
        unix=time.time(),
        name=broken.name,
        host=broken.host,
        command=broken.command,
        before=broken.before,
        set=plan.set,
        semantics=semantics_of(plan.set, plan.arguments),
        bound=plan.bound,
        expected=plan.expected,
        launches=launches,
        verdict=failed_verdict(why, launches),
        finding=plan.finding,
        parent=plan.run_id,
        successor=broken.view.successor,
    )
    try:
        with open_ledger(ledger_path()) as ledger:
            if line.comparison_id not in {each.comparison_id for each in ledger.newest(20)}:
                ledger.append(line)
    except PerftuiError as error:
        return [str(error)]
    return []


def _what_of_the_run(broken: Underway) -> list[str]:
    """Say whether the training that was stopped for it goes on."""
    if not broken.stopped:
        return []
    if broken.view.successor is not None:
        return [f"the training goes on as {broken.view.successor}"]
    line = run_command(broken.command, broken.before)
    return [f"{broken.plan.run_id} had been stopped for it and does not run; start it again by: {line}"]


def _close_view(broken: Underway, sentence: str) -> None:
    """Leave no relaunch in the run's folder that looks as if it went on."""
    places = run_places(broken.plan.run_id or "")
    view = read_record(places.relaunch, RelaunchView)
    if view is None or view.relaunch_id != broken.view.relaunch_id or view.state in ("done", "failed"):
        return
    closed = msgspec.structs.replace(
        view,
        state="failed",
        message=sentence,
        successor=broken.view.successor,
        launches=[each for each in view.launches if each.launch is not None],
    )
    try:
        write_record(places.relaunch, closed)
    except OSError:
        return  # a full disk: the ledger and the line on the screen say it


def _is_unseen(each: Underway) -> bool:
    """Whether a relaunch goes on of which no hub tells any more: it was killed."""
    return each.plan.run_id is not None and each.stopped and not _has_hub(each)


def _has_hub(each: Underway) -> bool:
    """Whether the hub of its run lives, which sees to it and tells of it."""
    return each.plan.run_id is not None and has_hub(each.plan.run_id)


def _goes_on(each: Underway) -> str:
    return (
        f"{each.plan.run_id} is stopped while a change of it is measured (process {each.pid}, "
        f"launch {len(each.view.launches)}); its hub is gone, perftui ledger will have the verdict"
    )
