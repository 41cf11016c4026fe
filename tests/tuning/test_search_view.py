"""A search as a screen shows it, from its entries; read from the ledger while a process searches."""

import os
import socket
from dataclasses import replace

import msgspec
import pytest

from perftui.ipc.ledger_records import Verdict
from perftui.ipc.places import ledger_path, search_progress_path
from perftui.ipc.search_records import Begun, Ended, Judged, Measured, Proposal, SearchEntry
from perftui.ipc.search_view import SearchProgress
from perftui.ipc.view import LaunchProgress
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.tuning.regression import Label
from perftui.trainer.tuning.search.next_move import Known, LaunchMove, choice_now
from perftui.trainer.tuning.search.proposals import Choice
from perftui.trainer.tuning.search.search_ledger import open_search_ledger
from perftui.trainer.tuning.search.search_reading import read_search
from perftui.trainer.tuning.search.search_view import search_view
from perftui.trainer.tuning.search.shared_progress import SharedProgress
from perftui.trainer.tuning.search.state import SearchState, advance
from perftui.trainer.tuning.standing import Standing
from tests.conftest import RuntimeDirs

from .made_search import fp32, launch, measured, starved, state_with
from .simulated_job import PLAN, sitting

WORKERS = Proposal(set={"loader.num_workers": 4}, code="input.workers", bound=5.0, expected=3.0)
FASTER = Verdict(verdict="faster", sentence="3 times as fast", gain=2.0, lo=1.9, hi=2.1)
KNOWN = Known(cpus=8.0)


def after(state: SearchState, *entries: SearchEntry) -> SearchState:
    for entry in entries:
        state = advance(state, entry)
    return state


def changed(label: Label = "B", log_step_s: float = -3.1) -> Measured:
    return measured(launch(label, WORKERS.set, log_step_s))


def test_a_search_of_which_nothing_is_done_is_shown() -> None:
    view = search_view(SearchState(PLAN), Choice((), ()), None)
    assert (view.trials, view.now, view.aside, view.step_ms, view.goes_on) == ([], None, [], None, False)


def test_what_is_measured_now_is_no_part_of_what_waits() -> None:
    state = state_with(starved(), fp32(), in_force={"loader.num_workers": 0})
    waiting = search_view(state, choice_now(state, KNOWN), None)
    assert waiting.step_ms == pytest.approx(135.3, abs=0.1)
    assert [(each.set, each.waits) for each in waiting.aside] == [
        ({"loader.num_workers": 4}, True),
        ({"precision.tf32": True}, False),
    ]
    assert "GPU" in waiting.aside[1].reason
    begun = after(state, Begun(comparison_id="c1", purpose="trial", proposal=WORKERS))
    view = search_view(begun, choice_now(begun, KNOWN), None)
    assert view.now is not None
    assert (view.now.set, view.now.verdict, view.now.launches[0].label) == (WORKERS.set, None, "A")
    assert (view.now.finding, view.now.expected, view.now.bound) == ("input.workers", 3.0, 5.0)
    assert [each.set for each in view.aside] == [{"precision.tf32": True}]


def test_a_judged_trial_has_its_figures_and_the_result_its_command() -> None:
    state = after(
        state_with(starved(), in_force={"loader.num_workers": 0}),
        Begun(comparison_id="c1", purpose="trial", proposal=WORKERS),
        changed(),
        Judged(verdict=FASTER, kept=True),
    )
    view = search_view(state, choice_now(state, KNOWN), None)
    (trial,) = view.trials
    assert (trial.comparison_id, trial.verdict, trial.kept) == ("c1", FASTER, True)
    assert trial.step_ms == pytest.approx(45.05, abs=0.01)
    assert view.changed == WORKERS.set
    assert view.run[:5] == ["perftui", "run", "--set", "loader.num_workers=4", "--"]
    assert view.write == ["loader.num_workers: DataLoader(…, num_workers=4)"] or view.write
    final = Proposal(set=WORKERS.set, code="final")
    compared = after(
        state,
        Begun(comparison_id="c2", purpose="final", proposal=final),
        measured(launch("A")),
        changed(),
        Judged(verdict=FASTER, kept=True),
        Ended(reason="nothing_left", sentence="Done."),
    )
    ended = search_view(compared, choice_now(compared, KNOWN), None)
    assert ended.final is not None
    assert (ended.final.purpose, ended.final.verdict, ended.now) == ("final", FASTER, None)
    assert (ended.reason, ended.sentence, len(ended.trials)) == ("nothing_left", "Done.", 1)
    assert not any(each.waits for each in ended.aside)


def _recorded(*entries: SearchEntry) -> str:
    plan = msgspec.structs.replace(PLAN, host=socket.gethostname(), name="job")
    with open_search_ledger(ledger_path()) as ledger:
        ledger.begin_search(plan)
        for entry in entries:
            ledger.add_entry(plan.search_id, entry)
    return plan.search_id


def test_a_search_is_read_while_its_process_tells_how_it_stands(runtime_dirs: RuntimeDirs) -> None:
    assert read_search() is None
    ident = _recorded(sitting(), measured(launch(), starved()))
    view = read_search()
    assert view is not None
    assert (view.search_id, view.goes_on, view.launch) == (ident, False, None)
    assert read_search("job") == read_search(ident[:6]) == view
    assert read_search("another") is None
    shared = SharedProgress(ident)
    told: list[Standing] = []
    tell = shared.of(LaunchMove("B", {}), told.append)
    starting = Standing("starting", 0, None, 3.0, None, 0.0, None)
    going = Standing("measuring", 40, 61.5, 130.0, 240.0, 0.54, "steps wander by 12 %")
    tell(starting)
    tell(going)
    tell(replace(going, steps=41))  # within half a second: told to the terminal alone
    assert told == [starting, going, replace(going, steps=41)]
    view = read_search()
    assert view is not None
    assert view.goes_on
    assert view.launch is not None
    assert view.launch == LaunchProgress(
        label="B",
        state="measuring",
        steps=40,
        step_ms=61.5,
        elapsed_s=130.0,
        limit_s=240.0,
        share=0.54,
        why="steps wander by 12 %",
    )
    shared.tell(None)
    view = read_search()
    assert view is not None
    assert (view.goes_on, view.launch) == (True, None)
    shared.close()
    shared.close()
    view = read_search()
    assert view is not None
    assert not view.goes_on


def test_what_a_dead_process_or_another_search_told_is_nothing(runtime_dirs: RuntimeDirs) -> None:
    ident = _recorded(sitting(), measured(launch(), starved()))
    path = search_progress_path(socket.gethostname())
    ticks = start_ticks(os.getpid())
    assert ticks is not None
    for told in (
        SearchProgress(search_id=ident, pid=os.getpid(), started_ticks=ticks - 1),
        SearchProgress(search_id="another", pid=os.getpid(), started_ticks=ticks),
    ):
        path.write_bytes(msgspec.json.encode(told))
        view = read_search()
        assert view is not None
        assert not view.goes_on
    path.write_bytes(b"{")
    assert read_search() is not None


def test_a_full_disk_costs_the_picture_and_not_the_search(
    runtime_dirs: RuntimeDirs,
) -> None:
    shared = SharedProgress("s")
    tell = shared.of(LaunchMove("A", {}), lambda _: None)
    folder = search_progress_path(socket.gethostname()).parent
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("no folder any more")
    tell(Standing("starting", 0, None, 3.0, None, 0.0, None))
    shared.close()
    assert folder.read_text() == "no folder any more"
