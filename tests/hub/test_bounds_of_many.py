"""What the hub keeps of each rank shrinks where there are many, so that all of them together stay bounded."""

import pytest

from perftui.ipc.recording import Entry
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.step_log import RAW_STEPS, StepLog, raw_steps_of
from perftui.trainer.hub.views import WINDOW_STEPS
from tests.hub.made_messages import hello


@pytest.mark.parametrize(("world_size", "kept"), [(1, RAW_STEPS), (64, RAW_STEPS), (128, 2048), (4096, 256)])
def test_fewer_steps_are_kept_of_each_of_many_ranks(world_size: int, kept: int) -> None:
    assert raw_steps_of(world_size) == kept
    fold = RunFold()
    fold.apply(Entry(unix=1.0, message=hello(world_size=world_size)))
    assert fold.ranks[0].log.raw.maxlen == kept


def test_with_few_steps_kept_the_newest_and_the_whole_run_are_still_told() -> None:
    few, full = StepLog(raw_steps_of(4096)), StepLog()
    template = StepRecord(0, 0, 10_000_000, 0, 0, 0, 0, 0, 1, 1, 0, 0, -1, -1, -1, -1)
    for step in range(5000):
        row = template._replace(step=step, wall_ns=10_000_000 + step % 7 * 1_000_000)
        few.add(row)
        full.add(row)
    assert few.window(WINDOW_STEPS) == full.window(WINDOW_STEPS)
    one, other = few.whole(), full.whole()
    assert one is not None
    assert other is not None
    assert one.steps == other.steps
    assert one.step_ms.p50 == pytest.approx(other.step_ms.p50, rel=0.1)
    assert one.shares == other.shares
