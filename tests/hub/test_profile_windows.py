"""Windows as the hub leads them: orders to ranks, ranks that fall out, ends that come by themselves."""

import gzip
import json
import os
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import CancelProfileCommand, Done, ProfileCommand, SummaryQuery, Update
from perftui.ipc.errors import Refused
from perftui.ipc.messages import ArmWindow, CancelWindow
from perftui.ipc.places import RunPlaces
from perftui.ipc.profile_schedule import ProfileSchedule
from perftui.ipc.run_files import RunDescription, read_record, write_record
from perftui.trainer.telemetry.processes import start_ticks

from .conftest import HubProcess, until
from .fake_rank import WALL_NS, FakeRank

TRACE = {
    "traceEvents": [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": "ProfilerStep#60",
            "pid": 1,
            "tid": 1,
            "ts": 0,
            "dur": 9,
        },
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 5},
    ]
}


class Asked:
    """A `ProfileCommand` whose end is waited for by a thread: a link waits for its answer."""

    def __init__(self, places: RunPlaces, steps: int = 3) -> None:
        self._places = places
        self._steps = steps
        self._done: Done | None = None
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        link = DashboardLink(self._places.dashboard_socket)
        self._done = link.ask(ProfileCommand(command_id=new_command_id(), steps=self._steps), 30.0)
        link.close()

    def done(self) -> Done:
        self._thread.join(40.0)
        assert self._done is not None
        return self._done


@pytest.fixture
def two(hub: HubProcess, places: RunPlaces, link: DashboardLink) -> Iterator[tuple[FakeRank, FakeRank]]:
    """A hub that knows two ranks with a hundred steps each."""
    hub.start()
    other = (os.getppid(), start_ticks(os.getppid()) or 0)
    ranks = FakeRank(places, 0, 2), FakeRank(places, 1, 2, other)
    for rank in ranks:
        rank.hello()
        rank.steps(100)
    until(link, lambda u: len(u.view.ranks) == 2 and all(rank.steps == 100 for rank in u.view.ranks))
    yield ranks
    for rank in ranks:
        rank.link.close()


def trace(places: RunPlaces, window_id: str) -> str:
    path = places.profiles / f"rank0_step60_n3_{window_id}.pt.trace.json"
    path.write_text(json.dumps(TRACE))
    return str(path)


def finish(rank: FakeRank, order: ArmWindow, path: str) -> None:
    for state in ("armed", "warming", "recording", "saving"):
        rank.window(order.window_id, state)
    rank.window(order.window_id, "done", path=path)


def test_ranks_agree_on_a_step_and_one_that_is_busy_is_named(
    two: tuple[FakeRank, FakeRank], places: RunPlaces
) -> None:
    asked = Asked(places)
    orders = [rank.order(ArmWindow) for rank in two]
    assert orders[0] == orders[1]
    step_ms = WALL_NS / 1e6
    assert orders[0].start_step == 100 + 1000 / step_ms + orders[0].warm_steps
    assert (orders[0].warm_steps, orders[0].steps) == (2, 3)
    two[1].window(orders[1].window_id, "busy", "the script's own torch.profiler is active")
    finish(two[0], orders[0], trace(places, orders[0].window_id))
    profile = asked.done().profile
    assert profile is not None
    assert (profile.state, profile.preset, profile.opened_by) == ("done", "light", "command")
    assert [(rank.rank, rank.state) for rank in profile.ranks] == [(0, "done"), (1, "busy")]
    assert profile.window_notes == ["rank 1: busy: the script's own torch.profiler is active"]
    assert profile.ranks[0].cost_ms == {"start": 0.1, "stall": 2.5}


def test_a_later_window_has_one_warm_step_and_as_many_steps_as_the_events_allow(
    two: tuple[FakeRank, FakeRank], places: RunPlaces
) -> None:
    first = Asked(places, steps=10)
    order, _ = [rank.order(ArmWindow) for rank in two]
    assert order.steps == 3
    for rank in two:
        finish(rank, order, trace(places, order.window_id))
    profile = first.done().profile
    assert profile is not None
    assert (profile.steps, profile.asked_steps) == (3, 10)
    assert "3 of 10 steps" in profile.window_notes[0]
    second = Asked(places, steps=10)
    orders = [rank.order(ArmWindow) for rank in two]
    assert (orders[0].warm_steps, orders[0].steps) == (1, 2)
    for rank in two:
        finish(rank, orders[0], trace(places, orders[0].window_id))
    again = second.done().profile
    assert again is not None
    assert again.window_notes[0] == ("2 of 10 steps: a step has 60,000 events, and a window may have 150,000")


def test_a_rank_that_never_answers_is_named_and_the_others_go_on(
    two: tuple[FakeRank, FakeRank], places: RunPlaces
) -> None:
    asked = Asked(places)
    orders = [rank.order(ArmWindow) for rank in two]
    finish(two[0], orders[0], trace(places, orders[0].window_id))
    assert two[1].order(CancelWindow).window_id == orders[1].window_id
    profile = asked.done().profile
    assert profile is not None
    assert profile.state == "done"
    assert [rank.state for rank in profile.ranks] == ["done", "silent"]
    assert profile.window_notes == ["rank 1: silent: it did not answer within 10 s"]


def test_a_rank_that_ends_inside_a_window_is_named(two: tuple[FakeRank, FakeRank], places: RunPlaces) -> None:
    asked = Asked(places)
    orders = [rank.order(ArmWindow) for rank in two]
    two[1].window(orders[1].window_id, "armed")
    two[1].goodbye()
    finish(two[0], orders[0], trace(places, orders[0].window_id))
    profile = asked.done().profile
    assert profile is not None
    assert [rank.state for rank in profile.ranks] == ["done", "aborted"]
    assert profile.window_notes == ["rank 1: aborted: its training ended"]


def test_a_window_is_cancelled_on_all_ranks(
    two: tuple[FakeRank, FakeRank], places: RunPlaces, link: DashboardLink
) -> None:
    with pytest.raises(Refused, match="no profiling window is open"):
        link.ask(CancelProfileCommand(command_id=new_command_id()), 5.0)
    asked = Asked(places)
    orders = [rank.order(ArmWindow) for rank in two]
    for rank in two:
        rank.window(orders[0].window_id, "armed")
    assert link.ask(CancelProfileCommand(command_id=new_command_id()), 5.0).ok
    for rank in two:
        assert rank.order(CancelWindow).window_id == orders[0].window_id
        rank.window(orders[0].window_id, "cancelled", "cancelled")
    done = asked.done()
    assert not done.ok
    assert done.result == "cancelled: cancelled"


def test_ranks_that_have_not_shown_themselves_are_named(
    hub: HubProcess, places: RunPlaces, link: DashboardLink
) -> None:
    hub.start()
    rank = FakeRank(places, 0, 4)
    rank.hello()
    rank.steps(20)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 20)
    asked = Asked(places)
    order = rank.order(ArmWindow)
    assert order.start_step == -1
    finish(rank, order, trace(places, order.window_id))
    profile = asked.done().profile
    assert profile is not None
    assert profile.window_notes == ["of 4 ranks, these do not train here and took no part: 1, 2, 3"]
    rank.link.close()


def scheduled(places: RunPlaces, schedule: ProfileSchedule) -> None:
    description = read_record(places.description, RunDescription)
    assert description is not None
    write_record(places.description, msgspec.structs.replace(description, profile_schedule=schedule))


def test_a_schedule_opens_windows_up_to_its_number_over_a_restart(
    hub: HubProcess, places: RunPlaces, link: DashboardLink
) -> None:
    scheduled(places, ProfileSchedule(every_steps=100, steps=2, most=2))
    hub.start()
    rank = FakeRank(places)
    rank.hello()
    rank.steps(10)
    until(link, lambda u: bool(u.view.ranks))
    for at in (100, 200):
        order = rank.order(ArmWindow)
        assert (order.window_id, order.start_step, order.steps) == (f"every{at}", at, 2)
        rank.steps(90)
        finish(rank, order, trace(places, order.window_id))
        until(link, partial(_is_done, f"every{at}"))
    view = until(link, lambda u: len(u.view.profiles) == 2).view
    assert [p.opened_by for p in view.profiles] == [
        f"every 100 steps (window {number} of at most 2)" for number in (1, 2)
    ]
    hub.kill()
    hub.start()
    rank.hello()
    rank.steps(90)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 280)
    began = link.snapshot(5.0).sent_unix
    until(link, lambda u: u.sent_unix > began + 2.5)  # two looks
    assert not [order for order in rank.link.receive() if isinstance(order, ArmWindow)]
    assert len(link.snapshot(5.0).view.profiles) == 2
    rank.link.close()


def _is_done(window_id: str, update: Update) -> bool:
    return any(each.state == "done" and each.window_id == window_id for each in update.view.profiles)


def test_a_jump_of_the_step_time_opens_a_window(
    hub: HubProcess, places: RunPlaces, link: DashboardLink
) -> None:
    scheduled(places, ProfileSchedule(jump_share=0.3))
    hub.start()
    rank = FakeRank(places)
    rank.hello()
    rank.steps(400)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 400)
    order = rank.order(ArmWindow, speak=lambda: rank.steps(5, wall_ns=2 * WALL_NS))
    assert order.window_id.startswith("jump")
    finish(rank, order, trace(places, order.window_id))
    view = until(link, lambda u: any(p.state == "done" for p in u.view.profiles)).view
    assert view.profiles[0].opened_by == "the step time rose by 100% (window 1 of at most 10)"
    summary = json.loads(link.ask(SummaryQuery(command_id=new_command_id()), 5.0).result)
    assert summary["profiles"][0]["opened_by"] == view.profiles[0].opened_by
    rank.link.close()


def test_old_traces_make_room_and_what_was_found_stays(
    hub: HubProcess, places: RunPlaces, link: DashboardLink
) -> None:
    hub.start()
    rank = FakeRank(places)
    rank.hello()
    rank.steps(100)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 100)
    asked = Asked(places)
    order = rank.order(ArmWindow)
    finish(rank, order, packed(places, order.window_id, age_s=0))
    assert asked.done().ok
    for number in range(25):  # of a hub before this one
        packed(places, f"w{number}", age_s=-number - 1)
    Path(places.profiles / f"rank0_step60_n3_{order.window_id}.pt.trace.json.gz.tmp").touch()
    later = Asked(places)
    newest = rank.order(ArmWindow)
    half = places.profiles / f"rank0_step60_n3_{newest.window_id}.pt.trace.json.gz.json.tmp"
    half.touch()
    finish(rank, newest, packed(places, newest.window_id, age_s=-100))
    assert later.done().ok
    kept = list(places.profiles.glob("*.pt.trace.json.gz"))
    assert len(kept) == 20
    assert not half.exists()
    view = until(link, lambda u: len(u.view.profiles) == 2).view
    first, second = view.profiles
    assert first.ranks[0].path is None
    assert first.window_notes == ["its trace files are no longer there; the newest windows' are kept"]
    assert first.sentence
    assert second.ranks[0].path
    rank.link.close()


def packed(places: RunPlaces, window_id: str, age_s: int) -> str:
    """Write an (empty) trace by its real name, so old; the analysis has its own tests."""
    path = places.profiles / f"rank0_step60_n3_{window_id}.pt.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(TRACE).encode()))
    at = time.time() - 1000 - age_s
    os.utime(path, (at, at))
    return str(path)
