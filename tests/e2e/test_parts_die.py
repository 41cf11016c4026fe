"""Each part of ours killed, or stopped and woken, at every phase: the training tells the same losses."""

import os
import pty
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import pytest

from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.places import run_places
from perftui.ipc.run_files import ExitRecord, read_record
from tests.waiting import wait_until

from .conftest import PERFTUI, Desk
from .phased import PHASES, STEPS, Phased, Suspended

pytestmark = [pytest.mark.torch, pytest.mark.slow]


@contextmanager
def dashboard(*arguments: str) -> Generator[int, None, None]:
    """A real dashboard in a terminal that is read all the time; gives its pid."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [*PERFTUI, *arguments])
    drain = threading.Thread(target=_drain, args=(terminal,))
    drain.start()
    try:
        yield pid
    finally:
        for number in (signal.SIGCONT, signal.SIGKILL):
            os.kill(pid, number)
        os.waitpid(pid, 0)
        drain.join()
        os.close(terminal)


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:  # its last process has ended
        return


@pytest.mark.long
def test_the_hub_killed_at_every_phase(desk: Desk) -> None:
    training = Phased(desk)

    def kill(phase: str) -> None:
        hub = _serving_hub(training.run_id)
        os.kill(hub, signal.SIGKILL)
        wait_until(lambda: _serving_hub(training.run_id) != hub, "another hub")
        if phase == "ending":
            wait_until(lambda: desk.steps(training.run_id) == STEPS - 1, "all steps that have ended are told")

    training.unharmed(kill, "--json", "out.json")
    (rank,) = desk.status(training.run_id)["ranks"]
    assert rank["steps"] == STEPS
    record = read_record(run_places(training.run_id).exit_record, ExitRecord)
    assert record is not None
    assert record.hub_restarts == len(PHASES)


@pytest.mark.long
def test_the_hub_killed_inside_a_window(desk: Desk) -> None:
    """The ranks record all the same, and the next hub takes the window on by their reports."""
    training = Phased(desk)

    def kill(phase: str) -> None:
        if phase == "later":
            desk.start("profile", training.run_id, "--steps", "5")
            wait_until(lambda: desk.status(training.run_id)["profiles"], "a window is open")
            os.kill(desk.hub_pid(training.run_id), signal.SIGKILL)
        if phase == "ending":
            wait_until(lambda: _window_state(desk, training.run_id) == "done", "the window is analysed")

    training.unharmed(kill)


def _window_state(desk: Desk, run_id: str) -> str | None:
    profiles = desk.status(run_id).get("profiles") or [{"state": None}]
    return profiles[-1]["state"]  # type: ignore[no-any-return]


def _serving_hub(run_id: str) -> int:
    link = DashboardLink(run_places(run_id).dashboard_socket)
    try:
        return link.snapshot(60.0).view.header.hub_pid
    finally:
        link.close()


@pytest.mark.long
def test_the_hub_suspended_from_each_phase_to_the_next(desk: Desk) -> None:
    training = Phased(desk)
    sleeper = Suspended(lambda: desk.hub_pid(training.run_id))
    woken = threading.Timer(2.0, sleeper.wake)  # asleep while the training ends: its summary comes late

    def turn(phase: str) -> None:
        sleeper.turn()
        if phase == PHASES[-1]:
            woken.start()

    training.unharmed(turn)
    woken.join()
    wait_until(lambda: desk.status(training.run_id).get("state") == "failed", "the hub tells its end")
    (rank,) = desk.status(training.run_id)["ranks"]
    assert (rank["steps"], rank["dropped"]) == (STEPS, 0)


@pytest.mark.long
def test_the_keeper_suspended_from_each_phase_to_the_next(desk: Desk) -> None:
    training = Phased(desk)
    sleeper = Suspended(training.keeper_pid)
    woken = threading.Timer(2.0, sleeper.wake)

    def turn(phase: str) -> None:
        sleeper.turn()
        if phase == PHASES[-1]:
            woken.start()

    training.unharmed(turn)
    woken.join()


@pytest.mark.long
def test_the_rank_suspended_at_every_phase(desk: Desk) -> None:
    """What the user stops, Ctrl-Z say, goes on where it was; meanwhile it is shown as silent."""
    training = Phased(desk)
    seen: list[str] = []

    def stop(phase: str) -> None:
        pid = training.rank_pid()
        os.kill(pid, signal.SIGSTOP)
        try:
            if phase == "training":
                wait_until(lambda: _rank_state(desk, training.run_id) == "silent", "it is called silent", 30)
                seen.append(phase)
            else:
                time.sleep(0.5)
        finally:
            os.kill(pid, signal.SIGCONT)

    training.unharmed(stop)
    assert seen == ["training"]


def _rank_state(desk: Desk, run_id: str) -> str | None:
    link = DashboardLink(run_places(run_id).dashboard_socket)
    try:
        ranks = link.snapshot(10.0).view.ranks
    finally:
        link.close()
    return ranks[0].state if ranks else None


@pytest.mark.long
def test_dashboards_killed_and_suspended_at_every_phase(desk: Desk) -> None:
    training = Phased(desk)
    with ExitStack() as stack:

        def open_two(_phase: str) -> None:
            with dashboard(training.run_id):
                time.sleep(1.0)  # and it is killed
            suspended = stack.enter_context(dashboard(training.run_id))
            time.sleep(1.0)
            os.kill(suspended, signal.SIGSTOP)

        training.unharmed(open_two)
    (rank,) = desk.status(training.run_id)["ranks"]
    assert rank["steps"] == STEPS


@pytest.mark.long
@pytest.mark.parametrize("phase", PHASES)
def test_the_keeper_killed(desk: Desk, phase: str) -> None:
    """Nobody is left to learn the exit code: the run is lost, and the training itself goes on to its end."""
    training = Phased(desk)

    def kill(at: str) -> None:
        if at == phase:
            os.kill(training.keeper_pid(), signal.SIGKILL)

    plain, ours = training.both(kill)
    console = run_places(training.run_id).console
    wait_until(lambda: console.read_text() == plain.losses, "it goes on to its end")
    assert plain.losses.startswith(ours.losses)  # nobody passes on what its hub reads in the keeper's place
    assert (plain.code, ours.code) == (7, 1)
    (run,) = desk.runs()
    assert run["state"] == "lost"
