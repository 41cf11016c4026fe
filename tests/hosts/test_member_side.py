"""A host's hub before a lead that was started again: it learns of the clocks before it is told anything."""

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from perftui.ipc.codec import decode_from_host
from perftui.ipc.host_addresses import HostPort
from perftui.ipc.host_messages import (
    AskHostHello,
    FromHost,
    HostBatch,
    HostBeat,
    HostHello,
    HostWelcome,
    LeadBeat,
    ToHost,
)
from perftui.ipc.member_socket import MemberSocket
from perftui.ipc.messages import PROTOCOL_VERSION
from perftui.ipc.recording import Entry
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.live_run import LiveRun
from perftui.trainer.hub.member_side import MemberSide
from tests.hub.made_messages import batch

AHEAD_NS = 60_000_000_000
"""By so much this host's clock is before the lead's."""
DEADLINE_S = 10.0


class Wire:
    """What a member says, in order; what it is to hear next."""

    def __init__(self) -> None:
        self.said: list[FromHost] = []
        self.next: list[ToHost] = []

    def receive(self) -> Iterator[ToHost]:
        heard, self.next = self.next, []
        yield from heard

    def send(self, message: FromHost) -> bool:
        self.said.append(message)
        return True

    def send_frame(self, frame: bytes) -> bool:
        return self.send(decode_from_host(frame))


def a_run() -> LiveRun:
    stand_in = SimpleNamespace(
        fold=RunFold("h2"),
        description=SimpleNamespace(host="h2", run_id="run-h2"),
        clock=SimpleNamespace(unix_ns=time.time_ns),
        windows=SimpleNamespace(stacks_for_lead=list),
        over=False,
        all_said=False,
        ended=None,
    )
    return cast(LiveRun, stand_in)


def turn_until(side: MemberSide, wire: Wire, kind: type[FromHost]) -> list[FromHost]:
    """Let the member go on until it says such a message; the lead answers beats. Return all it said."""
    began, deadline = len(wire.said), time.monotonic() + DEADLINE_S
    while not any(isinstance(each, kind) for each in wire.said[began:]):
        assert time.monotonic() < deadline, f"no {kind.__name__}: {wire.said[began:]}"
        seen = len(wire.said)
        side.turn()
        for said in wire.said[seen:]:
            if isinstance(said, HostBeat):
                now_ns = time.time_ns() - AHEAD_NS
                wire.next.append(LeadBeat(asked_ns=said.sent_ns, received_ns=now_ns, sent_ns=now_ns))
        time.sleep(0.005)
    return wire.said[began:]


def welcome(pid: int) -> HostWelcome:
    return HostWelcome(protocol=PROTOCOL_VERSION, run_id="run-h1", hub_pid=pid, name="h2")


@pytest.mark.parametrize("again", range(3))
def test_a_lead_that_does_not_know_us_hears_of_the_clocks_before_any_batch(again: int) -> None:
    wire = Wire()
    side = MemberSide(cast(MemberSocket, wire), HostPort("h1", 1), a_run())
    turn_until(side, wire, HostHello)
    wire.next.append(welcome(1))
    for number in range(3):
        side.heard(Entry(unix=1.0, message=msgspec.structs.replace(batch(number, 1, number), host="h2")))
    turn_until(side, wire, HostBatch)
    for pid in range(2, 3 + again):  # the batch was not taken: it is backlog to each new lead
        wire.next.append(AskHostHello())
        since = turn_until(side, wire, HostHello)
        wire.next.append(welcome(pid))
        since += turn_until(side, wire, HostBatch)
        hello = next(at for at, each in enumerate(since) if isinstance(each, HostHello))
        told = next(
            at for at, each in enumerate(since) if isinstance(each, HostBeat) and each.offset_ns is not None
        )
        first = next(at for at, each in enumerate(since) if isinstance(each, HostBatch))
        assert hello < told < first
        beat = since[told]
        assert isinstance(beat, HostBeat)
        assert beat.offset_ns == pytest.approx(-AHEAD_NS, abs=1e9)
