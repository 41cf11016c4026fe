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
    """What comes meanwhile goes together as soon as there is room."""
    queue = ForwardQueue()
    for number in range(IN_FLIGHT + 5):
        queue.add(entry(number))
        queue.pack()
    assert [each.number for each in batches(queue)] == list(range(1, IN_FLIGHT + 1))
    queue.sent(IN_FLIGHT)
    queue.pack()
    assert batches(queue) == []
    queue.taken(3)
    queue.pack()
    (batch,) = batches(queue)
    assert (batch.number, [each.unix for each in batch.entries]) == (17, [16.0, 17.0, 18.0, 19.0, 20.0])


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
        assert queue.kept <= 10_000
    queue.pack()
    (batch,) = batches(queue)
    assert [each.unix for each in batch.entries] == [float(number) for number in range(queue.dropped, 50)]
    assert len(batch.entries) > 7
    assert batch.dropped == queue.dropped > 0
    queue.sent(1)
    for number in range(50, 100):  # what is on its way stays: the lead may have it
        queue.add(entry(number, size=1000))
    assert queue.dropped == 100 - len(batch.entries)
    queue.taken(1)
    assert (queue.kept, queue.empty) == (0, True)


def test_a_backlog_goes_in_full_batches() -> None:
    queue = ForwardQueue()
    for number in range(1000):
        queue.add(entry(number))
    queue.pack()
    assert [len(each.entries) for each in batches(queue)] == [256, 256, 256, 232]
    assert [each.unix for batch in batches(queue) for each in batch.entries] == list(map(float, range(1000)))


def test_a_batch_has_no_more_bytes_than_the_lead_lets_through() -> None:
    queue = ForwardQueue()
    for number in range(40):
        queue.add(entry(number, size=100_000))
    queue.pack()
    assert [len(each.entries) for each in batches(queue)] == [5] * 8


def test_a_batch_too_long_for_a_frame_is_split() -> None:
    queue = ForwardQueue(kept_bytes=10**9)
    for number in range(5):
        queue.add(entry(number, size=5 * 1024 * 1024))
    queue.pack()
    found = batches(queue)
    assert [each.unix for batch in found for each in batch.entries] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert len(found) == 5
    queue.taken(5)
    queue.add(entry(9, size=17 * 1024 * 1024))
    queue.pack()
    assert queue.dropped == 1
