"""A hub whose peers mean ill, or err: what it refuses, what it tells of it, and what the audit has."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.audit import read_audit
from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import (
    ProfileCommand,
    RelaunchCommand,
    StepsQuery,
    StopCommand,
    SummaryQuery,
    Update,
)
from perftui.ipc.errors import ConnectionLost, Refused
from perftui.ipc.messages import ArmWindow, Hello, RankEvent, WindowReport
from perftui.ipc.places import RunPlaces
from perftui.trainer.hub.rank_track import RankTrack
from tests.fuzz.hub_under_fire import Peer
from tests.fuzz.seeds import FROM_RANK, PULL, example

from .conftest import HubProcess, until
from .fake_rank import FakeRank


@pytest.fixture
def rank(places: RunPlaces, hub: HubProcess, link: DashboardLink) -> Iterator[FakeRank]:
    """A rank that trains, seen by the hub."""
    hub.start()
    made = FakeRank(places)
    made.hello()
    made.steps(60)
    until(link, lambda update: bool(update.view.ranks) and update.view.ranks[0].steps == 60)
    yield made
    made.link.close()


def test_commands_leave_their_lines_and_questions_none(
    rank: FakeRank, link: DashboardLink, places: RunPlaces
) -> None:
    link.ask(SummaryQuery(command_id=new_command_id()), 5.0)
    with pytest.raises(Refused, match="expected 0 to 512"):
        link.ask(RelaunchCommand(command_id=new_command_id(), set={"loader.num_workers": 10**6}), 5.0)
    window = ProfileCommand(command_id=new_command_id(), steps=2)
    link.command(window)
    rank.order(ArmWindow)
    link.ask(StopCommand(command_id=new_command_id()), 5.0)
    lines = read_audit(places.audit)
    told = [(line.what, line.result) for line in lines]
    assert told == [("relaunch", "refused"), ("profile", "accepted"), ("stop", "accepted"), ("stop", "done")]
    assert lines[0].given["set"] == {"loader.num_workers": 10**6}
    assert "expected 0 to 512" in lines[0].told
    assert lines[1].given == {"steps": 2, "preset": "light"}
    assert lines[1].command_id == window.command_id
    assert {line.actor.pid for line in lines} == {os.getpid()}
    assert places.stop_request.exists()


def test_a_trace_outside_of_the_run_s_folder_is_never_read(
    rank: FakeRank, link: DashboardLink, places: RunPlaces, tmp_path: Path
) -> None:
    outside = tmp_path / "secret.json"
    outside.write_text('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "theirs", "ts": 1, "dur": 2}]}')
    link.command(ProfileCommand(command_id=new_command_id(), steps=2))
    order = rank.order(ArmWindow)
    for state in ("armed", "recording", "saving"):
        rank.window(order.window_id, state)
    rank.window(order.window_id, "done", path=str(outside))
    update = until(link, lambda u: bool(u.view.profiles) and u.view.profiles[-1].state in ("done", "failed"))
    told = msgspec.json.encode(update.view.profiles[-1]).decode()
    assert (update.view.profiles[-1].sentence or "").startswith("No trace of this window could be read")
    assert str(outside) not in told
    assert "theirs" not in told


def test_pulls_that_come_together_are_one(rank: FakeRank, places: RunPlaces) -> None:
    peer = Peer(places.dashboard_socket)
    for _ in range(2000):
        peer.send(PULL)
    answers = sum(1 for _ in peer.heard(1500))
    peer.close()
    assert 1 <= answers < 500


def test_a_dashboard_that_floods_is_declined_and_others_are_served(
    rank: FakeRank, link: DashboardLink, places: RunPlaces
) -> None:
    flood = DashboardLink(places.dashboard_socket)
    for _ in range(400):
        flood.command(StepsQuery(command_id=new_command_id(), rank=0))
    with pytest.raises(Refused, match="more than 20 commands a second"):
        _ask_on(flood)
    link.ask(SummaryQuery(command_id=new_command_id()), 5.0)
    update = until(link, lambda u: "too many" in (u.view.header.message or ""))
    assert isinstance(update, Update)
    flood.close()


def _ask_on(link: DashboardLink) -> None:
    for _ in range(50):
        # what it has not read yet fills its queue: an answer that finds no room there is dropped
        with contextlib.suppress(ConnectionLost):
            link.ask(SummaryQuery(command_id=new_command_id()), 5.0, answer_s=0.5)


def test_frames_that_cannot_be_read_are_told_and_the_rank_goes_on(
    rank: FakeRank, link: DashboardLink, places: RunPlaces
) -> None:
    peer = Peer(places.rank_socket, b"r5.5")
    peer.send(b"\xc1 no MessagePack")
    peer.send(msgspec.msgpack.encode({**msgspec.msgpack.decode(FROM_RANK[1]), "run_id": "another"}))
    update = until(link, lambda u: "1 of another run, 1 unreadable" in (u.view.header.message or ""))
    assert update.view.header.message == "2 frames were not taken: 1 of another run, 1 unreadable"
    rank.steps(5)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 65)
    peer.close()


def test_a_world_of_a_million_ranks_costs_no_million(
    places: RunPlaces, hub: HubProcess, link: DashboardLink
) -> None:
    hub.start()
    rank = FakeRank(places, world_size=1 << 20)
    rank.hello()
    rank.steps(60)
    until(link, lambda update: bool(update.view.ranks) and update.view.ranks[0].steps == 60)
    began = time.monotonic()
    link.command(ProfileCommand(command_id=new_command_id(), steps=2))
    rank.order(ArmWindow)
    update = until(link, lambda u: bool(u.view.profiles))
    assert "of 1048576 ranks, these do not train here" in update.view.profiles[0].window_notes[0]
    assert time.monotonic() - began < 15
    rank.link.close()


def test_windows_and_texts_of_a_rank_are_bounded() -> None:
    track = RankTrack(hello=example(Hello), first_unix=0.0, last_unix=0.0)
    report = example(WindowReport)
    for number in range(5000):
        track.apply(msgspec.structs.replace(report, window_id=f"w{number}"), 1.0)
    assert len(track.windows) == len(track.windows_unix) == 4096
    assert "w4999" in track.windows
    assert "w0" not in track.windows
    track.apply(msgspec.structs.replace(example(RankEvent), text="x" * 100_000), 1.0)
    assert len(track.marks[-1].text) == 2000
