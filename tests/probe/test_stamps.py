"""The ring of stamps, what reads it, and what places things in steps."""

import threading
from collections.abc import Callable

from perftui.ipc.messages import FLAG_COMPILING, FLAG_FAILED
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe import stamps
from perftui.trainer.probe.own_cost import EVERY_STAMPS, OwnCost
from perftui.trainer.probe.placing import Placing
from perftui.trainer.probe.stamp_reader import StampReader
from perftui.trainer.probe.stamps import LOOK_EVERY, UNKNOWN_CPU, Stamp, StampRing
from perftui.trainer.probe.step_times import StepTimes

LOADER, ADAM = 7, 1000


def quiet_ring(kept: int) -> StampRing:
    ring = StampRing(lambda _number, _at_ns, _cpu_ns: None, kept)
    ring.attend_from(1 << 60)
    return ring


def put_numbers(ring: StampRing, first: int, last: int) -> None:
    for number in range(first, last):
        ring.put(number % 5, number, -number, number * 2)


def test_stamps_come_out_as_they_went_in_however_often_they_are_taken() -> None:
    ring = quiet_ring(8)
    seen: list[Stamp] = []
    at = 0
    for count in (3, 7, 0, 5, 7, 7, 1):
        put_numbers(ring, at, at + count)
        at += count
        seen += ring.take()
    assert seen == [(n % 5, n, -n, n * 2) for n in range(30)]
    assert ring.lost == 0
    assert ring.take() == []


def test_of_too_many_unread_stamps_the_older_are_counted_as_lost() -> None:
    ring = quiet_ring(512)
    put_numbers(ring, 0, 3000)
    taken = [at_ns for _, at_ns, *_ in ring.take()]
    assert taken == list(range(3000 - len(taken), 3000))
    assert 256 <= len(taken) <= 512 + LOOK_EVERY
    assert ring.lost == 3000 - len(taken)
    assert ring.written == 3000
    lost = ring.lost
    put_numbers(ring, 3000, 3004)
    assert [at_ns for _, at_ns, *_ in ring.take()] == [3000, 3001, 3002, 3003]
    assert ring.lost == lost


def test_stamps_left_between_two_calls_are_read_in_their_order() -> None:
    ring = quiet_ring(512)
    for at_ns in range(0, 30, 3):
        ring.put(0, at_ns, 1, 2)
        ring.leave((1, at_ns + 1, 3, 4))
        ring.leave((2, at_ns + 2, 5, 6))
    assert ring.written == 30
    assert ring.take() == [(at_ns % 3, at_ns, 1 + at_ns % 3 * 2, 2 + at_ns % 3 * 2) for at_ns in range(30)]
    assert ring.written == 30


def test_skipped_stamps_are_neither_read_nor_lost() -> None:
    ring = quiet_ring(8)
    put_numbers(ring, 0, 5)
    ring.skip()
    assert ring.take() == []
    assert (ring.lost, ring.written) == (0, 5)


def test_what_was_lost_before_a_skip_is_not_lost_after_it() -> None:
    """A forked child skips: what its parent has lost is not its own."""
    ring = quiet_ring(512)
    put_numbers(ring, 0, 3000)
    ring.skip()
    put_numbers(ring, 0, 5)
    assert len(ring.take()) == 5
    assert ring.lost == 0


def test_a_reader_beside_a_writer_sees_whole_stamps_in_order() -> None:
    ring = quiet_ring(1024)
    done = threading.Event()

    def write() -> None:
        for number in range(200_000):
            ring.put(number & 7, number, number + 1, number + 2)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen: list[Stamp] = []
    while not done.is_set():
        seen += ring.take()
    writer.join()
    seen += ring.take()
    assert len(seen) + ring.lost == 200_000
    assert all(stamp == (at & 7, at, at + 1, at + 2) for stamp in seen for at in stamp[1:2])
    assert [stamp[1] for stamp in seen] == sorted({stamp[1] for stamp in seen})


def test_attention_is_paid_from_the_named_stamp_on() -> None:
    attended: list[tuple[int, int]] = []
    ring = StampRing(lambda number, at_ns, _cpu_ns: attended.append((number, at_ns)))
    ring.attend_from(3)
    for number in range(5):
        ring.put(0, 100 + number, 0, 0)
    assert attended == [(3, 103), (4, 104)]
    ring.attend_from(LOOK_EVERY + 3)  # beyond the call at which the ring looks after itself
    for number in range(5, LOOK_EVERY + 5):
        ring.put(0, 100 + number, 0, 0)
    assert [number for number, _ in attended[2:]] == [LOOK_EVERY + 3, LOOK_EVERY + 4]


def step_of(reader: StampReader, at: int, *, scaler: Callable[[], bool] | None = None) -> int:
    """One step of 70 ns that begins at `at`."""
    reader.read(
        [
            (stamps.FETCH_BEGIN, at, at, LOADER * 2 + 1),
            (stamps.FETCH_END, at + 10, UNKNOWN_CPU, 4),
            (stamps.BACKWARD_BEGIN, at + 30, UNKNOWN_CPU, 0),
            (stamps.BACKWARD_END, at + 60, UNKNOWN_CPU, 0),
        ]
    )
    optimizer = [
        (stamps.OPTIMIZER_BEGIN, at + 60, UNKNOWN_CPU, ADAM),
        (stamps.OPTIMIZER_END, at + 67, UNKNOWN_CPU, 0),
    ]
    if scaler is None:
        reader.read(optimizer)
    else:
        reader.read([(stamps.SCALER_BEGIN, at + 60, UNKNOWN_CPU, ADAM)])
        reader.read(optimizer if scaler() else [])
        reader.read([(stamps.SCALER_END, at + 68, UNKNOWN_CPU, 0)])
    return at + 70


def test_stamps_become_steps() -> None:
    reader = StampReader()
    at = 1000
    for _ in range(3):
        at = step_of(reader, at)
    reader.finish(at + 99, 5)
    rows = list(reader.steps)
    assert [row.step for row in rows] == [0, 1, 2]
    middle = rows[1]
    assert (middle.wall_ns, middle.wait_ns, middle.forward_ns, middle.backward_ns) == (70, 10, 20, 30)
    assert (middle.optimizer_ns, middle.samples, middle.cpu_ns) == (7, 4, 70)
    assert rows[2].cpu_ns == -1  # nobody asked at its end


def test_a_scaler_that_does_not_let_its_optimizer_step_marks_the_step() -> None:
    reader = StampReader()
    at = 1000
    for stepped in (True, False, True):
        at = step_of(reader, at, scaler=lambda stepped=stepped: stepped)  # type: ignore[misc]
    reader.finish(at, 0)
    assert [bool(row.flags & FLAG_FAILED) for row in reader.steps] == [False, True, False]


def test_a_step_in_which_something_was_compiled_is_marked_and_no_other() -> None:
    reader = StampReader()
    at = step_of(reader, 1000)
    reader.details.compiles.append((1075, 1085))
    reader.details.compiles.append((1086, 1090))
    for _ in range(3):
        at = step_of(reader, at)
    reader.finish(at, 0)
    assert [row.flags & FLAG_COMPILING for row in reader.steps] == [0, FLAG_COMPILING, 0, 0]


def record(step: int, end_ns: int) -> StepRecord:
    return StepRecord(step, end_ns, 10, 0, 0, 0, 0, 0, 0, 1, 0, 0)


def test_things_are_placed_into_the_step_in_which_they_happened() -> None:
    times = StepTimes()
    placing: Placing[str] = Placing(times)
    for at_ns, name in ((5, "a"), (10, "b"), (11, "c"), (35, "d")):
        placing.add(at_ns, name)
    assert list(placing.placed()) == []
    times.note([record(0, 10), record(1, 20)])
    assert list(placing.placed()) == [(0, "a"), (0, "b"), (1, "c")]
    times.note([record(2, 30)])
    placing.add(12, "late")
    assert list(placing.placed()) == [(1, "late")]
    assert list(placing.rest(3)) == [(3, "d")]


def test_own_cost_is_the_mean_of_the_measured_stamps_times_all() -> None:
    cost = OwnCost()
    assert cost.total_ns(1000, 100) is None
    for number in range(100 + EVERY_STAMPS * 100):
        cost.note(number, 10 if number % 2 else 30, with_cpu=False)  # a live thread offers every stamp
    assert cost.total_ns(90, 15) == 50 * 10 + 40 * 30
    due = cost.next_stamp
    before = cost.total_ns(1000, 100)
    cost.note(due - 1, 10**9, with_cpu=False)
    assert cost.total_ns(1000, 100) == before
    cost.note(due, 10, with_cpu=False)
    assert cost.next_stamp == due + EVERY_STAMPS


def test_stamps_that_ask_for_cpu_time_count_once_a_step() -> None:
    cost = OwnCost()
    for number in range(100, 100 + EVERY_STAMPS * 40, EVERY_STAMPS):
        asked = number % 2 == 0
        cost.note(number, 50 if asked else 10, with_cpu=asked)
    assert cost.total_ns(60, 10) == 10 * 50 + 50 * 10


def test_own_cost_of_few_stamps_is_unknown_for_one_of_them_may_have_lost_its_core() -> None:
    cost = OwnCost()
    for at in range(10):
        assert cost.total_ns(1, 0) is None
        cost.note(100 + EVERY_STAMPS * at, 5_000_000 if at == 0 else 10, with_cpu=False)
    assert cost.total_ns(1, 0) == 10


def test_own_cost_leaves_out_when_the_thread_lost_its_core() -> None:
    cost = OwnCost()
    for number in range(100, 100 + EVERY_STAMPS * 100, EVERY_STAMPS):
        cost.note(number, 5_000_000 if number % 20 == 0 else 10, with_cpu=False)
    assert cost.total_ns(1, 0) == 10
