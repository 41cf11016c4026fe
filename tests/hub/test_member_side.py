"""A member hub brings the lead what it hears as fast as it comes, also after a cut and to a new lead."""

from types import SimpleNamespace
from typing import Any

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
from perftui.ipc.messages import BLANK, PROTOCOL_VERSION, RankEvent
from perftui.ipc.recording import Entry
from perftui.trainer.hub import member_side
from perftui.trainer.hub.member_side import MemberSide

TURN_S = 0.0125
"""With eight ranks that send every 100 ms the loop wakes so often."""


class Clock:
    """Stands in for `time`."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s

    def monotonic_ns(self) -> int:
        return round(self.now_s * 1e9)


class Lead:
    """The other end of a link that answers after `trip_s`, by a clock that is `behind_ns`."""

    def __init__(self, clock: Clock, trip_s: float, behind_ns: int = 0) -> None:
        self.clock = clock
        self.trip_s = trip_s
        self.behind_ns = behind_ns
        self.cut = self.known = False
        """Whether nothing passes, and whether the connection that there is has said hello."""
        self.takes = True
        """Whether it keeps the batches that come."""
        self.said: list[FromHost] = []
        self.last = 0
        self.frames = 0
        self.unix: list[float] = []
        self.taken_at: list[float] = []
        self.left = False
        self.answers: list[tuple[float, ToHost]] = []

    def send(self, message: FromHost) -> bool:
        answer: ToHost | None = None
        self.known &= not self.cut
        if self.cut:
            return True
        self.said.append(message)
        if isinstance(message, HostHello):
            self.known = True
            answer = HostWelcome(
                protocol=PROTOCOL_VERSION, run_id="run", hub_pid=1, name="h2", last=self.last
            )
        elif not self.known:
            answer = AskHostHello()
        elif isinstance(message, HostBeat):
            self.left |= message.left
            now_ns = self.clock.monotonic_ns() - self.behind_ns
            answer = LeadBeat(asked_ns=message.sent_ns, received_ns=now_ns, sent_ns=now_ns, last=self.last)
        if answer is not None:
            self.answers.append((self.clock.now_s + self.trip_s, answer))
        return True

    def send_frame(self, frame: bytes) -> bool:
        self.frames += 1
        message = decode_from_host(frame)
        assert isinstance(message, HostBatch)
        self.known &= not self.cut
        if not self.cut:
            self.said.append(message)
        if self.known and self.takes and message.number > self.last:
            self.last = message.number
            self.unix += [entry.unix for entry in message.entries]
            self.taken_at += [self.clock.now_s] * len(message.entries)
        return True

    def receive(self) -> list[ToHost]:
        due = [answer for at, answer in self.answers if at <= self.clock.now_s and not self.cut]
        self.answers = [each for each in self.answers if each[0] > self.clock.now_s]
        return due


class Member:
    """A member hub whose run makes entries at a rate."""

    def __init__(self, clock: Clock, lead: Lead) -> None:
        self.clock, self.lead = clock, lead
        self.run = SimpleNamespace(
            description=SimpleNamespace(host="h2", run_id="run-h2", owned=True),
            fold=SimpleNamespace(ordered=[]),
            windows=SimpleNamespace(stacks_for_lead=list),
            clock=SimpleNamespace(unix_ns=clock.monotonic_ns),
            over=False,
            all_said=True,
            ended=None,
        )
        stand_ins: list[Any] = [lead, HostPort("10.0.0.1", 1), self.run]
        self.side = MemberSide(*stand_ins)
        self.made = 0

    def go(self, seconds: float, per_s: float = 0.0, size: int = 100) -> None:
        until, owed = self.clock.now_s + seconds, 0.0
        while self.clock.now_s < until:
            owed += per_s * TURN_S
            while owed >= 1.0:
                owed -= 1.0
                event = RankEvent(**BLANK, at_ns=self.made, event="note", text="x" * size)
                self.side.heard(Entry(unix=self.clock.now_s, message=event))
                self.made += 1
            self.side.turn()
            self.clock.now_s += TURN_S


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(member_side, "time", made)
    return made


@pytest.mark.parametrize("trip_s", [0.001, 0.2])
@pytest.mark.parametrize("per_s", [20, 40, 80, 1000])
def test_the_lead_has_all_of_it_at_once(clock: Clock, per_s: float, trip_s: float) -> None:
    lead = Lead(clock, trip_s)
    member = Member(clock, lead)
    member.go(60.0, per_s)
    member.go(1.0)
    assert len(lead.unix) == member.made >= per_s * 59
    assert lead.unix == sorted(lead.unix)
    late_s = [at - made for at, made in zip(lead.taken_at, lead.unix, strict=True) if made > 1003.0]
    assert max(late_s) < 0.2
    assert lead.frames < 61 * 11
    assert member.side.note == "part of run, which has its hosts together at 10.0.0.1:1"


def test_what_a_cut_has_kept_back_comes_soon_after_it(clock: Clock) -> None:
    lead = Lead(clock, 0.01)
    member = Member(clock, lead)
    member.go(5.0, 80)
    lead.cut = True
    member.go(120.0, 80)
    lead.cut = False
    member.go(4.0, 80)
    member.go(0.3)
    assert len(lead.unix) == member.made
    assert max(at - made for at, made in zip(lead.taken_at[-80:], lead.unix[-80:], strict=True)) < 0.2


def test_at_the_end_it_stays_as_long_as_the_lead_takes_what_is_kept(clock: Clock) -> None:
    """Over a slow link: each answer comes most of a second after."""
    lead = Lead(clock, 0.8)
    member = Member(clock, lead)
    member.go(10.0, 80)
    lead.cut = True
    member.go(20.0, 600, size=900)
    lead.cut = False
    member.run.over = True
    waited = clock.now_s
    while member.side.waits and clock.now_s < waited + 60:
        member.go(TURN_S)
    assert len(lead.unix) == member.made
    assert lead.left
    assert clock.now_s - waited > 3.0


def test_at_the_end_it_does_not_stay_for_a_lead_that_is_gone(clock: Clock) -> None:
    lead = Lead(clock, 0.01)
    member = Member(clock, lead)
    member.go(5.0, 80)
    lead.cut = True
    member.go(5.0, 80)
    member.run.over = True
    waited = clock.now_s
    while member.side.waits and clock.now_s < waited + 60:
        member.go(TURN_S)
    assert 2.9 < clock.now_s - waited < 3.2


@pytest.mark.parametrize("again", range(3))
def test_a_lead_that_was_started_again_hears_of_the_clocks_before_any_batch(clock: Clock, again: int) -> None:
    lead = Lead(clock, 0.01, behind_ns=60_000_000_000)
    lead.takes = False  # so that all of it is backlog to each new lead
    member = Member(clock, lead)
    member.go(5.0, 80)
    for _ in range(1 + again):
        lead.known, began = False, len(lead.said)
        member.go(5.0, 80)
        since = lead.said[began:]
        since = since[next(at for at, each in enumerate(since) if isinstance(each, HostHello)) :]
        told = next(at for at, each in enumerate(since) if isinstance(each, HostBeat) and each.offset_ns)
        assert told < next(at for at, each in enumerate(since) if isinstance(each, HostBatch))
        beat = since[told]
        assert isinstance(beat, HostBeat)
        assert beat.offset_ns == pytest.approx(-lead.behind_ns, abs=1e9)
