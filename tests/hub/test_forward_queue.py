"""What a host's hub keeps for the lead: in order, until it is taken, within bounds, and counted."""

from perftui.ipc.codec import decode_from_host
from perftui.ipc.host_messages import HostBatch
from perftui.ipc.messages import BLANK, RankEvent
from perftui.ipc.recording import Entry
from perftui.trainer.hub.forward_queue import IN_FLIGHT, ForwardQueue


def entry(number: int, size: int = 10) -> Entry:
    event = RankEvent(**BLANK, at_ns=number, event="note", text="x" * size)
    return Entry(unix=float(number), message=event)


def batches(queue: ForwardQueue) -> list[HostBatch]:
    found = [decode_from_host(frame) for frame in queue.due()]
    assert all(isinstance(each, HostBatch) for each in found)
    return [each for each in found if isinstance(each, HostBatch)]


def test_what_was_added_is_due_until_it_is_taken() -> None:
    queue = ForwardQueue()
    queue.add(entry(1))
    queue.add(entry(2))
    queue.pack()
    (batch,) = batches(queue)
    assert (batch.number, [each.unix for each in batch.entries]) == (1, [1.0, 2.0])
    queue.sent(1)
    assert batches(queue) == []
    assert not queue.empty
    queue.again()  # the link was cut
    assert [each.number for each in batches(queue)] == [1]
    queue.taken(1)
    assert queue.empty
    assert queue.kept == 0


def test_only_some_batches_are_on_their_way_at_once() -> None:
    queue = ForwardQueue()
    for number in range(IN_FLIGHT + 5):
        queue.add(entry(number))
        queue.pack()
    assert [each.number for each in batches(queue)] == list(range(1, IN_FLIGHT + 1))
    queue.sent(IN_FLIGHT)
    assert batches(queue) == []
    queue.taken(3)
    assert [each.number for each in batches(queue)] == [17, 18, 19]


def test_part_of_what_is_due_may_be_refused_by_the_socket() -> None:
    queue = ForwardQueue()
    for number in range(4):
        queue.add(entry(number))
        queue.pack()
    queue.sent(2)
    assert [each.number for each in batches(queue)] == [3, 4]


def test_beyond_its_bound_the_oldest_go_and_are_counted() -> None:
    queue = ForwardQueue(kept_bytes=10_000)
    for number in range(50):
        queue.add(entry(number, size=1000))
        queue.pack()
    assert queue.kept <= 10_000
    kept = batches(queue)
    assert [each.number for each in kept] == list(range(50 - len(kept) + 1, 51))
    assert queue.dropped == 50 - len(kept)
    assert kept[-1].entries[0].unix == 49.0


def test_a_batch_too_long_for_a_frame_is_split() -> None:
    queue = ForwardQueue(kept_bytes=10**9)
    for number in range(5):
        queue.add(entry(number, size=5 * 1024 * 1024))
    queue.pack()
    found = batches(queue)
    assert [each.unix for batch in found for each in batch.entries] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert len(found) > 1
    queue.add(entry(9, size=17 * 1024 * 1024))
    queue.pack()
    assert queue.dropped == 1
