"""Real sockets: what arrives, what is dropped and counted, who may bind, and what a restart costs."""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator

import pytest
import zmq

from perftui.ipc.codec import (
    MAX_COMMAND_BYTES,
    MAX_RANK_FRAME_BYTES,
    decode_from_dashboard,
    decode_from_rank,
    encode,
)
from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import Answer, Done, Mismatch, Pull, StopCommand, Update
from perftui.ipc.errors import ConnectionLost, ProtocolError, Refused
from perftui.ipc.hub_lock import hub_lock_is_held
from perftui.ipc.hub_sockets import Arrival, HubSockets
from perftui.ipc.messages import PROTOCOL_VERSION, AskHello, Beat, Welcome
from perftui.ipc.places import RunPlaces, make_run_places
from perftui.ipc.rank_link import RankLink
from perftui.ipc.view import Header, RunView
from tests.waiting import wait_until

DEADLINE_S = 20.0


@pytest.fixture
def places(runtime_dirs: object) -> RunPlaces:
    return make_run_places("sockets-1")


@pytest.fixture
def hub(places: RunPlaces) -> Iterator[HubSockets]:
    sockets = HubSockets(places)
    yield sockets
    sockets.close()


def _link(places: RunPlaces) -> Iterator[DashboardLink]:
    link = DashboardLink(places.dashboard_socket)
    yield link
    link.close()


link = pytest.fixture(_link)


@pytest.fixture
def rank(places: RunPlaces) -> Iterator[RankLink]:
    link = RankLink(places.rank_socket, "rank-0")
    yield link
    link.close()


def _beat(seq: int) -> Beat:
    return Beat(run_id="sockets-1", host="h", rank=0, seq=seq, at_ns=seq, step=seq)


def _say(link: RankLink, message: Beat) -> None:
    assert link.send(message)
    assert link.drain(DEADLINE_S)


def _view() -> RunView:
    header = Header(
        run_id="sockets-1",
        name="n",
        host="h",
        command=["c"],
        state="training",
        started_unix=1.0,
        elapsed_s=2.0,
    )
    return RunView(header=header)


def _gather(hub: HubSockets, enough: Callable[[list[Arrival]], bool]) -> list[Arrival]:
    found: list[Arrival] = []

    def arrived() -> bool:
        found.extend(hub.arrivals(50))
        return enough(found)

    wait_until(arrived, "the frames arrive", DEADLINE_S)
    return found


def test_frames_arrive_in_order_and_answers_come_back(hub: HubSockets, rank: RankLink) -> None:
    for seq in range(40):
        _say(rank, _beat(seq))
    found = _gather(hub, lambda found: len(found) == 40)
    assert [arrival.side for arrival in found] == ["rank"] * 40
    assert [decode_from_rank(arrival.frame).seq for arrival in found] == list(range(40))
    assert hub.to_rank(found[0].peer, Welcome(protocol=PROTOCOL_VERSION, hub_pid=7))
    rank.wait(int(DEADLINE_S * 1000))
    assert rank.receive() == [Welcome(protocol=PROTOCOL_VERSION, hub_pid=7)]


def test_a_full_queue_says_no_and_never_blocks(places: RunPlaces, rank: RankLink) -> None:
    taken = [rank.send(_beat(seq)) for seq in range(500)]
    assert taken[0]
    assert not taken[-1]
    accepted = taken.count(True)
    assert taken == [True] * accepted + [False] * (500 - accepted)
    hub = HubSockets(places)
    try:
        assert rank.drain(DEADLINE_S)
        found = _gather(hub, lambda found: len(found) == accepted)
    finally:
        hub.close()
    assert [decode_from_rank(arrival.frame).seq for arrival in found] == list(range(accepted))


def test_a_second_hub_is_refused_and_the_first_goes_on(
    places: RunPlaces, hub: HubSockets, rank: RankLink
) -> None:
    with pytest.raises(Refused, match="another hub of sockets-1 is alive"):
        HubSockets(places)
    _say(rank, _beat(0))
    assert len(_gather(hub, bool)) == 1


def test_the_lock_goes_with_the_hub(places: RunPlaces) -> None:
    assert not hub_lock_is_held(places.hub_lock)
    for _ in range(2):
        hub = HubSockets(places)
        assert hub_lock_is_held(places.hub_lock)
        hub.close()
        assert not hub_lock_is_held(places.hub_lock)


def test_who_asks_whether_a_hub_lives_keeps_none_out(places: RunPlaces) -> None:
    asked = os.open(places.hub_lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(asked, fcntl.LOCK_SH)
    answered = threading.Timer(0.02, os.close, [asked])
    answered.start()
    HubSockets(places).close()
    answered.join()


def test_a_rank_finds_a_restarted_hub(places: RunPlaces, rank: RankLink) -> None:
    first = HubSockets(places)
    _say(rank, _beat(0))
    _gather(first, bool)
    first.close()
    second = HubSockets(places)
    try:
        _say(rank, _beat(1))
        found = _gather(second, bool)
        assert decode_from_rank(found[0].frame).seq == 1
        assert second.to_rank(found[0].peer, AskHello())
        rank.wait(int(DEADLINE_S * 1000))
        assert rank.receive() == [AskHello()]
    finally:
        second.close()


def test_a_relaunched_rank_takes_its_name_over(places: RunPlaces, hub: HubSockets, rank: RankLink) -> None:
    _say(rank, _beat(0))
    _gather(hub, bool)
    again = RankLink(places.rank_socket, "rank-0")
    try:
        _say(again, _beat(1))
        found = _gather(hub, bool)
        assert hub.to_rank(found[0].peer, AskHello())
        again.wait(int(DEADLINE_S * 1000))
        assert again.receive() == [AskHello()]
    finally:
        again.close()


def test_flush_delivers_what_is_queued(places: RunPlaces, hub: HubSockets) -> None:
    leaving = RankLink(places.rank_socket, "rank-9")
    for seq in range(20):
        assert leaving.send(_beat(seq))
    leaving.flush(5.0)
    assert len(_gather(hub, lambda found: len(found) >= 20)) == 20


def test_unreadable_frames_to_a_rank_are_passed_over(places: RunPlaces, rank: RankLink) -> None:
    context = zmq.Context()
    stranger = context.socket(zmq.ROUTER)
    stranger.setsockopt(zmq.LINGER, 0)
    stranger.setsockopt(zmq.ROUTER_MANDATORY, 1)
    stranger.bind(places.rank_socket)
    try:
        _say(rank, _beat(0))
        assert stranger.poll(int(DEADLINE_S * 1000))
        peer = stranger.recv_multipart()[0]
        stranger.send_multipart([peer, b"\xc1 nonsense"])
        stranger.send_multipart([peer, encode(AskHello())])
        rank.wait(int(DEADLINE_S * 1000))
        found = rank.receive()
        while not found:  # the nonsense came by itself
            rank.wait(int(DEADLINE_S * 1000))
            found = rank.receive()
        assert found == [AskHello()]
    finally:
        stranger.close(0)
        context.term()


def test_sending_to_who_is_gone_is_no_error(places: RunPlaces, hub: HubSockets) -> None:
    assert not hub.to_dashboard(b"nobody", Answer(command_id="c", accepted=True))


def test_a_dashboard_names_what_it_has(hub: HubSockets, link: DashboardLink) -> None:
    link.pull()
    arrival = _gather(hub, bool)[0]
    assert decode_from_dashboard(arrival.frame) == Pull(
        protocol=PROTOCOL_VERSION, since=0, output_since=0, closer=[0], anew=True
    )
    update = Update(number=5, snapshot=True, view=_view(), output=["a", "b"], output_number=2, closer=[0])
    assert hub.to_dashboard(arrival.peer, update)
    assert link.receive(int(DEADLINE_S * 1000)) == update
    link.pull()
    again = _gather(hub, bool)[0]
    assert decode_from_dashboard(again.frame) == Pull(
        protocol=PROTOCOL_VERSION, since=5, output_since=2, closer=[0], anew=False
    )
    link.pull([0, 3])
    closer = _gather(hub, bool)[0]
    assert decode_from_dashboard(closer.frame) == Pull(
        protocol=PROTOCOL_VERSION, since=5, output_since=2, closer=[0, 3], anew=True
    )


def test_a_slow_dashboard_gets_nothing_that_it_did_not_ask_for(hub: HubSockets, link: DashboardLink) -> None:
    link.pull()
    peer = _gather(hub, bool)[0].peer
    assert hub.to_dashboard(peer, Update(number=1, snapshot=True, view=_view()))
    assert isinstance(link.receive(int(DEADLINE_S * 1000)), Update)
    assert link.receive(50) is None


def test_a_dashboard_finds_a_restarted_hub_and_starts_anew(places: RunPlaces, link: DashboardLink) -> None:
    first = HubSockets(places)
    link.pull()
    peer = _gather(first, bool)[0].peer
    assert first.to_dashboard(peer, Update(number=90, snapshot=True, view=_view(), output_number=40))
    assert isinstance(link.receive(int(DEADLINE_S * 1000)), Update)
    first.close()
    second = HubSockets(places)
    try:
        link.pull()
        arrival = _gather(second, bool)[0]
        assert decode_from_dashboard(arrival.frame) == Pull(
            protocol=PROTOCOL_VERSION, since=90, output_since=40, closer=[0], anew=True
        )
        assert second.to_dashboard(
            arrival.peer, Update(number=1, snapshot=True, view=_view(), output_number=3)
        )
        assert isinstance(link.receive(int(DEADLINE_S * 1000)), Update)
        link.pull()
        again = _gather(second, bool)[0]
        assert decode_from_dashboard(again.frame) == Pull(
            protocol=PROTOCOL_VERSION, since=1, output_since=3, closer=[0], anew=True
        )
    finally:
        second.close()


def test_another_protocol_is_named(hub: HubSockets, link: DashboardLink) -> None:
    link.pull()
    peer = _gather(hub, bool)[0].peer
    assert hub.to_dashboard(peer, Mismatch(hub_protocol=PROTOCOL_VERSION + 1, your_protocol=PROTOCOL_VERSION))
    with pytest.raises(
        ProtocolError, match=f"protocol {PROTOCOL_VERSION + 1}, this perftui {PROTOCOL_VERSION}"
    ):
        link.receive(int(DEADLINE_S * 1000))


def test_silence_is_lost_connection(link: DashboardLink) -> None:
    with pytest.raises(ConnectionLost, match="did not answer"):
        link.snapshot(0.05)
    with pytest.raises(ConnectionLost, match="no answer"):
        link.ask(StopCommand(command_id=new_command_id()), 0.05, answer_s=0.05)


@pytest.mark.parametrize("accepted", [True, False])
def test_a_command_is_answered_and_then_done(places: RunPlaces, accepted: bool) -> None:
    """One thread has both ends here: the hub answers first, and its replies wait in the dashboard's queue."""
    hub, link = HubSockets(places), DashboardLink(places.dashboard_socket)
    try:
        command = StopCommand(command_id=new_command_id())
        link.command(command)
        peer = _gather(hub, bool)[0].peer
        for message in (
            Answer(command_id="of another", accepted=not accepted, reason="not yours"),
            Answer(command_id=command.command_id, accepted=accepted, reason="it has ended"),
            Done(command_id=command.command_id, ok=True, result="stopped"),
        ):
            assert hub.to_dashboard(peer, message)
        if accepted:
            assert link.ask(command, DEADLINE_S).result == "stopped"
        else:
            with pytest.raises(Refused, match="it has ended"):
                link.ask(command, DEADLINE_S)
    finally:
        link.close()
        hub.close()


def test_a_foreign_frame_with_more_parts_is_passed_over(places: RunPlaces, hub: HubSockets) -> None:
    context = zmq.Context()
    stranger = context.socket(zmq.DEALER)
    stranger.setsockopt(zmq.LINGER, 0)
    stranger.connect(places.dashboard_socket)
    try:
        stranger.send_multipart([b"POST / HTTP/1.1", b"", b"stop"])
        stranger.send(encode(Pull(protocol=PROTOCOL_VERSION)))
        found = _gather(hub, bool)
        assert [decode_from_dashboard(arrival.frame) for arrival in found] == [
            Pull(protocol=PROTOCOL_VERSION)
        ]
    finally:
        stranger.close(0)
        context.term()


def test_a_command_comes_with_who_sent_it(hub: HubSockets, link: DashboardLink) -> None:
    link.pull()
    (arrival,) = _gather(hub, bool)
    assert (arrival.uid, arrival.pid) == (os.getuid(), os.getpid())


def test_the_processes_of_another_user_cannot_connect(
    places: RunPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub takes itself for another user here, so that this process is the stranger."""
    own = os.getuid()
    monkeypatch.setattr("perftui.ipc.hub_sockets.os.getuid", lambda: own + 1)
    hub = HubSockets(places)
    link, rank = DashboardLink(places.dashboard_socket), RankLink(places.rank_socket, "rank-0")
    try:
        link.pull()
        rank.send(_beat(0))
        assert [arrival for _ in range(20) for arrival in hub.arrivals(50)] == []
    finally:
        link.close()
        rank.close()
        hub.close()


@pytest.mark.parametrize("side", ["rank", "dashboard"])
def test_a_frame_that_is_too_long_is_refused_unread_and_the_socket_lives(
    hub: HubSockets, places: RunPlaces, side: str
) -> None:
    address = places.rank_socket if side == "rank" else places.dashboard_socket
    most = MAX_RANK_FRAME_BYTES if side == "rank" else MAX_COMMAND_BYTES
    context = zmq.Context()
    peer = context.socket(zmq.DEALER)
    peer.setsockopt(zmq.LINGER, 0)
    peer.connect(address)
    try:
        peer.send(bytes(most))
        assert [len(arrival.frame) for arrival in _gather(hub, bool)] == [most]
        peer.send(bytes(most + 1))
        peer.send_multipart([b"one", b"two"])  # a message of several parts is none of ours
        wait_until(lambda: _heard(hub, peer), "the peer is heard again", DEADLINE_S)
    finally:
        peer.close()
        context.term()


def _heard(hub: HubSockets, peer: "zmq.Socket[bytes]") -> bool:
    peer.send(b"short")
    return [arrival.frame for arrival in hub.arrivals(100)].count(b"short") > 0
