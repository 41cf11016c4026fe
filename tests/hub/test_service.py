"""The hub as a process: real sockets, real files, killed and started again."""

import json
import os
import time
from collections.abc import Iterator

import msgspec
import pytest

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import (
    Mismatch,
    ProfileCommand,
    Pull,
    RelaunchCommand,
    SeekCommand,
    StopCommand,
    SummaryQuery,
    Update,
)
from perftui.ipc.errors import ProtocolError, Refused
from perftui.ipc.messages import AskHello, Hello, StepBatch, Welcome
from perftui.ipc.places import RunPlaces
from perftui.ipc.rank_link import RankLink
from perftui.ipc.run_files import ExitRecord, RunDescription, StopRequest, read_record, write_record
from perftui.ipc.summary import Summary

from .conftest import DEADLINE_S, HubProcess, own_start_ticks, until

WALL_NS = 20_000_000


class FakeRank:
    """Speaks the rank's side over the real link; the process it names is this one."""

    def __init__(self, places: RunPlaces, rank: int = 0, world_size: int = 1) -> None:
        self._places = places
        self._rank = rank
        self._world_size = world_size
        self._seq = 0
        self._steps = 0
        self.link = RankLink(places.rank_socket, f"r{rank}.0")

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq - 1

    def hello(self) -> None:
        assert self.link.send(
            Hello(
                run_id=self._places.run_id,
                host="h",
                rank=self._rank,
                seq=self._next_seq(),
                protocol=1,
                pid=os.getpid(),
                start_ticks=own_start_ticks(),
                local_rank=self._rank,
                world_size=self._world_size,
                python="3",
                torch="2",
                device="cpu",
                command=["python"],
                wall_offset_ns=time.time_ns() - time.perf_counter_ns(),
            )
        )

    def steps(self, count: int, wait_share: float = 0.7) -> None:
        def column(value: int) -> list[int]:
            return [value] * count

        assert self.link.send(
            StepBatch(
                run_id=self._places.run_id,
                host="h",
                rank=self._rank,
                seq=self._next_seq(),
                first_step=self._steps,
                end_ns=column(time.perf_counter_ns()),
                wall_ns=column(WALL_NS),
                wait_ns=column(int(WALL_NS * wait_share)),
                forward_ns=column(WALL_NS // 20),
                backward_ns=column(WALL_NS // 10),
                optimizer_ns=column(WALL_NS // 100),
                cpu_ns=column(WALL_NS),
                samples=column(8),
                micro_batches=column(1),
                epoch=column(0),
                flags=column(0),
            )
        )
        self._steps += count


@pytest.fixture
def rank(places: RunPlaces) -> Iterator[FakeRank]:
    made = FakeRank(places)
    yield made
    made.link.close()


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
    rank.steps(100)
    update = until(link, lambda u: bool(u.view.findings))
    assert update.view.findings[0].code == "input.workers"


def test_a_killed_hub_comes_back_with_its_history(
    hub: HubProcess, rank: FakeRank, link: DashboardLink
) -> None:
    hub.start()
    rank.hello()
    rank.steps(100)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 100 and u.view.header.hub_pid > 0)
    time.sleep(1.2)  # the recording is flushed each second
    hub.kill()
    rank.steps(10)
    hub.start()
    update = until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 110)
    assert update.view.header.hub_restarts == 1
    assert sum(len(part.wall_ms) for part in update.history) == 110
    assert update.view.ranks[0].lost_frames == 0


def test_a_rank_unknown_to_the_hub_is_asked_for_its_hello(hub: HubProcess, rank: FakeRank) -> None:
    hub.start()
    rank.steps(5)
    deadline = time.monotonic() + DEADLINE_S
    heard: list[object] = []
    while not any(isinstance(message, AskHello) for message in heard):
        assert time.monotonic() < deadline
        rank.link.wait(200)
        heard += rank.link.receive()
    rank.hello()
    while not any(isinstance(message, Welcome) for message in heard):
        assert time.monotonic() < deadline
        rank.link.wait(200)
        heard += rank.link.receive()


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


def test_commands_that_cannot_be_are_refused_with_a_reason(hub: HubProcess, link: DashboardLink) -> None:
    hub.start()
    until(link, lambda u: True)
    with pytest.raises(Refused, match="no rank is training"):
        link.ask(ProfileCommand(command_id=new_command_id()), 5.0)
    with pytest.raises(Refused, match="unknown setting"):
        link.ask(RelaunchCommand(command_id=new_command_id(), set={"no.such": 1}), 5.0)
    with pytest.raises(Refused, match="only a replay"):
        link.ask(SeekCommand(command_id=new_command_id(), elapsed_s=1.0), 5.0)


def test_another_protocol_is_told_both_versions(hub: HubProcess, link: DashboardLink) -> None:
    hub.start()
    until(link, lambda u: True)
    link._send(Pull(protocol=99))  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ProtocolError, match="protocol 1, this perftui 99"):
        link.receive(5000)
    assert Mismatch(hub_protocol=1, your_protocol=99).hub_protocol == 1


def test_a_replay_serves_the_recording_and_seeks(
    hub: HubProcess, rank: FakeRank, link: DashboardLink, places: RunPlaces
) -> None:
    hub.start()
    rank.hello()
    rank.steps(40)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 40)
    time.sleep(2.0)
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
    assert link.ask(SeekCommand(command_id=new_command_id(), elapsed_s=0.0), 5.0).ok
    update = until(link, lambda u: u.view.header.replay)
    assert update.view.ranks == []
