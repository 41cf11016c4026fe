"""Statistics of the newest steps, kept up as steps come, against the same statistics made anew."""

from hypothesis import given, settings
from hypothesis import strategies as st

from perftui.ipc.messages import FLAG_ASLEEP, FLAG_EPOCH_START, FLAG_WAIT_UNKNOWN, UNUSUAL_FLAGS
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.newest_steps import WARM_STEPS
from perftui.trainer.hub.step_log import StepLog
from perftui.trainer.hub.step_totals import WindowFigures, figures_of

STEPS = 40
_durations = st.integers(1, 10**9)
_unknown_or_some = st.integers(-1, 1000)


@st.composite
def rows(draw: st.DrawFn, step: int) -> StepRecord:
    return StepRecord(
        step=step,
        end_ns=step,
        wall_ns=draw(_durations),
        wait_ns=draw(_durations),
        forward_ns=draw(_durations),
        backward_ns=draw(_durations),
        optimizer_ns=draw(_durations),
        cpu_ns=draw(_unknown_or_some),
        samples=draw(_unknown_or_some),
        micro_batches=1,
        epoch=0,
        flags=draw(st.sampled_from([0, 0, 0, FLAG_ASLEEP, FLAG_EPOCH_START, FLAG_WAIT_UNKNOWN])),
        h2d_ns=draw(_unknown_or_some),
        comm_ns=draw(_unknown_or_some),
        worker=-1,
        tokens=draw(_unknown_or_some),
    )


def made_anew(log: StepLog) -> WindowFigures | None:
    warm = min(WARM_STEPS, len(log) // 3)
    usual = [row for row in log.raw if row.step >= warm and not row.flags & UNUSUAL_FLAGS]
    return figures_of(usual[-STEPS:])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_they_are_the_same_as_made_anew_however_steps_come(data: st.DataObject) -> None:
    log, step = StepLog(), 0
    for _ in range(data.draw(st.integers(1, 8))):
        for _ in range(data.draw(st.integers(0, 2))):  # frames between two looks
            count = data.draw(st.sampled_from([1, 2, 7, 29, 50]))
            log.extend([data.draw(rows(step + number)) for number in range(count)])
            step += count + data.draw(st.sampled_from([0, 0, 3]))  # some steps were lost
        assert log.window(STEPS) == made_anew(log)


def test_more_steps_than_are_kept_between_two_looks() -> None:
    log = StepLog()
    template = StepRecord(0, 0, 10, 1, 2, 3, 1, 9, 4, 1, 0, 0, -1, -1, -1, -1)
    log.extend([template._replace(step=step) for step in range(100)])
    assert log.window(STEPS) == made_anew(log)
    log.extend([template._replace(step=step, wall_ns=step) for step in range(100, 9_000)])
    assert log.window(STEPS) == made_anew(log)
