"""The hub as a process: real sockets, real files, killed and started again."""

import json
import os
import subprocess
import time

import msgspec
import pytest

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import (
    ProfileCommand,
    Pull,
    RelaunchCommand,
    SeekCommand,
    StopCommand,
    SummaryQuery,
    Update,
)
from perftui.ipc.errors import ProtocolError, Refused
from perftui.ipc.ledger_records import Verdict
from perftui.ipc.messages import PROTOCOL_VERSION, AskHello, Welcome
from perftui.ipc.places import RunPlaces, make_run_places
from perftui.ipc.run_files import ExitRecord, RunDescription, StopRequest, read_record, write_record
from perftui.ipc.summary import Summary
from perftui.ipc.view import RelaunchView
from perftui.trainer.telemetry.processes import start_ticks
from tests.hub.fake_rank import DEADLINE_S, own_start_ticks

from .conftest import HubProcess, until
from .fake_rank import FakeRank


def test_steps_reach_a_dashboard_and_increments_follow(
    hub: HubProcess, rank: FakeRank, link: DashboardLink
) -> None:
    hub.start()
    rank.hello()
    rank.steps(100)
    update = until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 100)
    assert update.snapshot
    assert sum(len(part.wall_ms) for part in update.history) == 100
    assert update.view.ranks[0].shares.loader_wait == pytest.approx(0.7)
    assert update.view.header.state == "training"
    rank.steps(7)
    deadline = time.monotonic() + DEADLINE_S
    seen = 0
    while seen < 7:
        assert time.monotonic() < deadline
        link.pull()
        message = link.receive(1000)
        assert isinstance(message, Update)
        assert not message.snapshot
        seen += sum(len(part.wall_ms) for part in message.history)
    assert seen == 7


def test_the_cause_is_named(hub: HubProcess, rank: FakeRank, link: DashboardLink) -> None:
    hub.start()
    rank.hello()
    rank.loader(workers=0)
    rank.steps(100)
    update = until(link, lambda u: bool(u.view.findings))
    assert update.view.findings[0].code == "input.workers"
    update = until(link, lambda u: any(f.remedy and f.remedy.set for f in u.view.findings))
    about_s, most_s = update.view.trials_s or (0.0, 0.0)
    assert 0 < about_s < most_s


def test_a_killed_hub_comes_back_with_its_history(
    hub: HubProcess, rank: FakeRank, link: DashboardLink
) -> None:
    hub.start()
    rank.hello()
    rank.steps(100)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 100 and u.view.header.hub_pid > 0)
    hub.kill()  # what was seen has been recorded
    rank.hub_is_away = True
    rank.steps(10)
    hub.start()
    assert rank.link.drain(DEADLINE_S)
    update = until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 110)
    assert update.view.header.hub_restarts == 1
    assert sum(len(part.wall_ms) for part in update.history) == 110
    assert update.view.ranks[0].lost_frames == 0


def test_a_rank_unknown_to_the_hub_is_asked_for_its_hello(hub: HubProcess, rank: FakeRank) -> None:
    hub.start()
    rank.steps(5)
    rank.hear(AskHello)
    rank.hello()
    rank.hear(Welcome)


def test_two_processes_of_one_rank_are_not_mixed(
    hub: HubProcess, rank: FakeRank, link: DashboardLink, places: RunPlaces
) -> None:
    hub.start()
    rank.hello()
    rank.steps(30)
    until(link, lambda update: [r.steps for r in update.view.ranks] == [30])
    other = subprocess.Popen(["sleep", "60"])
    ticks = start_ticks(other.pid)
    assert ticks is not None
    rival = FakeRank(places, process=(other.pid, ticks))
    try:
        rival.hello()
        rival.steps(500)
        rank.steps(10)
        found = until(link, lambda update: update.view.header.message is not None)
        assert found.view.header.message is not None
        assert found.view.header.message.startswith("1 more process trains")
        found = until(link, lambda update: update.view.ranks[0].steps >= 40)
        assert (found.view.ranks[0].steps, found.view.ranks[0].pid) == (40, os.getpid())
        rank.goodbye()
        until(link, lambda update: update.view.ranks[0].state == "ended")
        rival.hear(AskHello, lambda: rival.steps(10))  # in the end the seat is given to who still speaks
        rival.hello()
        rival.steps(10)
        until(link, lambda update: update.view.ranks[0].pid == other.pid)
    finally:
        rival.link.close()
        other.kill()
        other.wait()


def test_three_dashboards_see_the_same(hub: HubProcess, rank: FakeRank, places: RunPlaces) -> None:
    hub.start()
    rank.hello()
    rank.steps(50)
    links = [DashboardLink(places.dashboard_socket) for _ in range(3)]
    try:
        updates = [
            until(each, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 50) for each in links
        ]
    finally:
        for each in links:
            each.close()
    assert len({msgspec.json.encode(update.history) for update in updates}) == 1


def test_stop_writes_the_request_with_the_ranks_pids(
    hub: HubProcess, rank: FakeRank, link: DashboardLink, places: RunPlaces
) -> None:
    hub.start()
    rank.hello()
    rank.steps(5)
    until(link, lambda u: bool(u.view.ranks))
    done = link.ask(StopCommand(command_id=new_command_id()), 5.0)
    assert done.ok
    request = read_record(places.stop_request, StopRequest)
    assert request is not None
    assert request.stopped_by == "user"
    assert request.trainers == [(os.getpid(), own_start_ticks())]
    until(link, lambda u: u.view.header.state == "stopping")


def test_the_steps_limit_asks_for_the_end(
    hub: HubProcess, rank: FakeRank, link: DashboardLink, places: RunPlaces
) -> None:
    description = read_record(places.description, RunDescription)
    assert description is not None
    write_record(places.description, msgspec.structs.replace(description, steps_limit=30))
    hub.start()
    rank.hello()
    rank.steps(39)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 39)
    assert not places.stop_request.exists()
    rank.steps(1)
    until(link, lambda u: u.view.header.state == "stopping")
    request = read_record(places.stop_request, StopRequest)
    assert request is not None
    assert request.stopped_by == "steps"


def test_the_end_is_summarised_and_the_hub_leaves(
    hub: HubProcess, rank: FakeRank, link: DashboardLink, places: RunPlaces
) -> None:
    hub.start()
    rank.hello()
    rank.steps(100)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 100)
    live = json.loads(link.ask(SummaryQuery(command_id=new_command_id()), 5.0).result)
    assert live["state"] == "training"
    write_record(places.exit_record, ExitRecord(exit_code=7, ended_unix=time.time(), outcome="failed"))
    until(link, lambda u: u.view.header.state == "failed")
    assert hub.wait() == 0
    summary = msgspec.json.decode(places.summary.read_bytes(), type=Summary)
    assert summary.exit_code == 7
    assert summary.ranks[0].steps == 100
    shares = summary.ranks[0].shares
    parts = [getattr(shares, name) for name in shares.__struct_fields__]
    assert sum(part for part in parts if part is not None) == pytest.approx(1.0, abs=0.01)
    assert summary.findings[0].code == "input.workers"


def test_at_the_end_the_sockets_go_and_the_files_stay(
    hub: HubProcess, rank: FakeRank, link: DashboardLink, places: RunPlaces
) -> None:
    hub.start()
    rank.hello()
    until(link, lambda u: bool(u.view.ranks))
    hub.end()
    assert places.runtime.is_dir()  # the run goes on: another hub will bind here
    hub.start()
    write_record(places.exit_record, ExitRecord(exit_code=0, ended_unix=time.time()))
    assert hub.wait() == 0
    assert not places.runtime.exists()
    assert places.summary.exists()


def test_a_hub_whose_rank_never_came_ends(hub: HubProcess, places: RunPlaces) -> None:
    description = read_record(places.description, RunDescription)
    assert description is not None
    long_ago = msgspec.structs.replace(description, owned=False, started_unix=time.time() - 61)
    write_record(places.description, long_ago)
    hub.start()
    assert hub.wait() == 0


def test_commands_that_cannot_be_are_refused_with_a_reason(hub: HubProcess, link: DashboardLink) -> None:
    hub.start()
    until(link, lambda u: True)
    with pytest.raises(Refused, match="no rank is training"):
        link.ask(ProfileCommand(command_id=new_command_id()), 5.0)
    with pytest.raises(Refused, match="unknown setting"):
        link.ask(RelaunchCommand(command_id=new_command_id(), set={"no.such": 1}), 5.0)
    with pytest.raises(Refused, match="only a replay"):
        link.ask(SeekCommand(command_id=new_command_id(), elapsed_s=1.0), 5.0)


def test_a_run_that_is_not_ours_is_told_the_command_to_use(
    hub: HubProcess, link: DashboardLink, places: RunPlaces
) -> None:
    description = read_record(places.description, RunDescription)
    assert description is not None
    write_record(places.description, msgspec.structs.replace(description, owned=False))
    hub.start()
    until(link, lambda u: True)
    told = r"perftui run --set loader\.num_workers=2 -- python t\.py"
    with pytest.raises(Refused, match=told):
        link.ask(RelaunchCommand(command_id=new_command_id(), set={"loader.num_workers": 2}), 5.0)


def test_the_summary_of_a_successor_has_the_verdict_that_led_to_it(
    hub: HubProcess, link: DashboardLink, places: RunPlaces
) -> None:
    verdict = Verdict(verdict="faster", sentence="twice as fast", gain=1.0, lo=0.9, hi=1.1)
    before = make_run_places("before")
    for successor, told in ((places.run_id, "faster"), ("another", None)):
        view = RelaunchView(
            relaunch_id="1", state="done", set={}, before={}, verdict=verdict, successor=successor
        )
        write_record(before.relaunch, view)
        description = read_record(places.description, RunDescription)
        assert description is not None
        write_record(places.description, msgspec.structs.replace(description, parent="before"))
        hub.start()
        until(link, lambda u: True)
        summary = json.loads(link.ask(SummaryQuery(command_id=new_command_id()), 5.0).result)
        assert (summary["verdict"] or {}).get("verdict") == told
        hub.end()


def test_another_protocol_is_told_both_versions(hub: HubProcess, link: DashboardLink) -> None:
    hub.start()
    until(link, lambda u: True)
    link._send(Pull(protocol=99))  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ProtocolError, match=f"protocol {PROTOCOL_VERSION}, this perftui 99"):
        link.receive(5000)


def test_a_replay_serves_the_recording_and_seeks(
    hub: HubProcess, rank: FakeRank, link: DashboardLink, places: RunPlaces
) -> None:
    hub.start()
    rank.hello()
    rank.steps(40)
    update = until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 40)
    then_s = update.view.header.elapsed_s
    rank.steps(60)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 100)
    write_record(places.exit_record, ExitRecord(exit_code=0, ended_unix=time.time()))
    assert hub.wait() == 0
    hub.start("--replay", str(places.state), "--at-end")
    update = until(link, lambda u: u.view.header.replay)
    assert update.view.ranks[0].steps == 100
    assert update.view.header.state == "finished"
    with pytest.raises(Refused, match="replay"):
        link.ask(StopCommand(command_id=new_command_id()), 5.0)
    assert link.ask(SeekCommand(command_id=new_command_id(), elapsed_s=then_s), 5.0).ok
    update = until(link, lambda u: u.view.header.replay)
    assert update.view.ranks[0].steps == 40
    assert link.ask(SeekCommand(command_id=new_command_id(), elapsed_s=0.0), 5.0).ok
    update = until(link, lambda u: u.view.header.replay)
    assert update.view.ranks == []
