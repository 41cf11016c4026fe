"""What a peer may send: a burst, then a rate; one that floods costs the others nothing."""

from perftui.trainer.hub.allowance import OF_A_RANK, Allowance, Rate
from perftui.trainer.hub.refusals import Refusals
from perftui.trainer.probe.outbox import BATCHES_KEPT, OTHERS_KEPT

RATE = Rate(frames_per_s=10.0, frames_at_once=5.0, bytes_per_s=100.0, bytes_at_once=1000.0)


def _taken(allowance: Allowance, peer: bytes, times: int, size: int = 1, now_s: float = 0.0) -> int:
    return sum(allowance.take(peer, size, now_s) for _ in range(times))


def test_a_burst_then_the_rate() -> None:
    allowance = Allowance(RATE)
    assert _taken(allowance, b"a", 100) == 5
    assert _taken(allowance, b"a", 100, now_s=0.3) == 3
    assert _taken(allowance, b"a", 100, now_s=100.0) == 5
    assert allowance.refused == 300 - 13


def test_bytes_count_too() -> None:
    allowance = Allowance(RATE)
    assert [allowance.take(b"a", 600, 0.0) for _ in range(2)] == [True, False]
    assert allowance.take(b"a", 600, 2.0)


def test_each_peer_has_its_own_and_a_clock_that_stands_back_gives_nothing() -> None:
    allowance = Allowance(RATE)
    assert _taken(allowance, b"a", 100, now_s=50.0) == 5
    assert _taken(allowance, b"b", 100, now_s=50.0) == 5
    assert _taken(allowance, b"a", 100, now_s=0.0) == 0


def test_peers_without_end_are_forgotten() -> None:
    allowance = Allowance(RATE)
    for number in range(20_000):
        assert allowance.take(b"%d" % number, 1, 0.0)
    assert len(allowance._buckets) <= 4096  # pyright: ignore[reportPrivateUsage]


def test_a_rank_that_was_away_may_send_all_that_it_kept_at_once() -> None:
    assert OF_A_RANK.frames_at_once > BATCHES_KEPT + OTHERS_KEPT


def test_refusals_are_told_by_reason_and_for_a_while() -> None:
    refusals = Refusals()
    assert refusals.message(0.0) is None
    refusals.note("unreadable", 10.0)
    assert refusals.message(11.0) == "1 frame was not taken: 1 unreadable"
    for _ in range(1500):
        refusals.note("too many", 12.0)
    assert refusals.message(13.0) == "1,501 frames were not taken: 1,500 too many, 1 unreadable"
    assert refusals.message(100.0) is None
