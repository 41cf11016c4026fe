"""The step clock on loops as libraries and their users write them, with exact times (one unit = 1 ns)."""

from perftui.ipc.messages import FLAG_EPOCH_START
from tests.probe.stamped_loops import StampedLoop
from tests.probe.written_loops import Loop, assert_partition, phases

STARTED = 1_000


def test_a_fetch_that_raises_is_wait_and_ends_nothing() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate().fail_to_fetch(11).fetch().backward().optimize()
        loop.fetch().backward().optimize()
        loop.fail_to_fetch(3).fail_to_fetch(4).fetch().backward().optimize().end()
    steps = loop.finish()
    assert_partition(steps)
    assert [step.epoch for step in steps] == [0] * 3 + [1] * 3
    assert [step.flags for step in steps] == [FLAG_EPOCH_START, 0, 0] * 2
    assert [phases(step)[1] for step in steps] == [26, 10, 17, 27, 10, 17]
    assert [step.samples for step in steps] == [4] * 6
    assert loop.gaps == []


def test_a_run_whose_fetches_raise_goes_on_training() -> None:
    loop = StampedLoop()
    loop.iterate().step()
    loop.fail_to_fetch().fail_to_fetch()
    assert loop.wake().phase == "training"
    assert loop.step().sums() == {"starting": STARTED, "between": 15, "training": 2 * 67 - 10 + 20}
