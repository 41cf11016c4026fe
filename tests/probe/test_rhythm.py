"""What is lost of the ring is counted in steps, and no figure is made of half a step."""

from itertools import chain, count

import pytest

from perftui.trainer.probe import stamps
from perftui.trainer.probe.stamp_reader import StampReader
from perftui.trainer.probe.stamps import Stamp

LOADER, VALIDATE, ADAM, SGD = 2 * 7 + 1, 2 * 8, 1000, 2000

FETCH = [(stamps.FETCH_BEGIN, LOADER), (stamps.FETCH_END, 4)]
BACKWARD = [(stamps.BACKWARD_BEGIN, 0), (stamps.BACKWARD_END, 0)]
OPTIMIZE = [(stamps.OPTIMIZER_BEGIN, ADAM), (stamps.OPTIMIZER_END, 0)]
OTHER = [(stamps.OPTIMIZER_BEGIN, SGD), (stamps.OPTIMIZER_END, 0)]
SCALE = [(stamps.SCALER_BEGIN, ADAM), *OPTIMIZE, (stamps.SCALER_END, 0)]
TOLD = [(stamps.EXPLICIT_STEP, 3)]
END = [(stamps.FETCH_BEGIN, LOADER), (stamps.FETCH_FAILED, 0)]
EPOCH = [*END, (stamps.ITERATOR_BEGIN, LOADER), (stamps.ITERATOR_END, 0)]

CYCLES = {
    "plain": FETCH + BACKWARD + OPTIMIZE,
    "accumulation": (FETCH + BACKWARD) * 3 + OPTIMIZE,
    "gan": FETCH + BACKWARD + OPTIMIZE + BACKWARD + OTHER,
    "scaler": FETCH + BACKWARD + SCALE,
    "no optimizer": FETCH + BACKWARD,
    "no loader": BACKWARD + OPTIMIZE,
    "gan without loader": BACKWARD + OPTIMIZE + BACKWARD + OTHER,
    "optimizer alone": OPTIMIZE,
    "told": TOLD,
    "told with all": FETCH + BACKWARD + OPTIMIZE + TOLD,
}
STEPS = 80


def stamped(cycle: list[tuple[int, int]]) -> list[Stamp]:
    """So many cycles in which each stamp has a time of its own: no two figures are alike."""
    times = (1000 + 10 * n + n * n for n in count())
    return [(code, at, at // 2, value) for (code, value), at in zip(cycle * STEPS, times, strict=False)]


def read_all(row: list[Stamp]) -> StampReader:
    reader = StampReader()
    reader.read(row)
    reader.finish(row[-1][1], 0)
    return reader


@pytest.mark.parametrize("name", CYCLES)
def test_steps_after_a_loss_have_the_numbers_and_times_they_would_have_had(name: str) -> None:
    cycle = CYCLES[name]
    row = stamped(cycle)
    right = {step.step: step for step in read_all(row).steps}
    assert len(right) == STEPS
    kept = 70 * len(cycle)  # nothing is judged before the 64th micro-batch where no optimizer is seen
    for read, lost in ((r, n) for r in range(kept, kept + len(cycle)) for n in range(1, 3 * len(cycle) + 1)):
        reader = StampReader()
        reader.read(row[:read])
        reader.skip(lost)
        reader.read(row[read + lost :])
        reader.finish(row[-1][1], 0)
        got = {step.step: step for step in reader.steps}
        differing = {number for number, step in got.items() if step != right[number]}
        assert differing == set(), (read, lost)
        touched = {at // len(cycle) for at in range(read, read + lost)}
        missing = set(right) - set(got)
        assert missing <= set(chain(touched, (n + 1 for n in touched), (n - 1 for n in touched))), (
            read,
            lost,
        )
        assert reader.clock.steps == STEPS


def test_several_losses_one_after_the_other() -> None:
    row = stamped(CYCLES["told"])
    reader = StampReader()
    reader.read(row[:5])
    for lost_from, lost_to in ((5, 17), (18, 19), (30, 70)):
        reader.skip(lost_to - lost_from)
        reader.read(row[lost_to : {17: 18, 19: 30, 70: 80}[lost_to]])
    reader.finish(row[-1][1], 0)
    assert [step.step for step in reader.steps] == [*range(5), *range(20, 30), *range(71, 80)]
    assert reader.clock.steps == STEPS


@pytest.mark.parametrize(
    ("name", "steps"),
    [("plain", 1), ("accumulation", 1), ("no loader", 2), ("told", 1), ("told with all", 1)],
)
def test_a_loss_in_the_first_steps_is_counted_by_what_follows(name: str, steps: int) -> None:
    cycle = CYCLES[name]
    row = [(stamps.EXPECT_STEPS, 990, 495, 0)] * name.startswith("told") + stamped(cycle)
    read = steps * len(cycle) + 1
    reader = StampReader()
    reader.read(row[:read])
    reader.skip(20 * len(cycle) + 1)
    reader.read(row[read + 20 * len(cycle) + 1 :])
    reader.finish(row[-1][1], 0)
    right = {step.step: step for step in read_all(row).steps}
    assert reader.clock.steps == len(right) == STEPS
    assert len(reader.steps) >= STEPS - 24
    assert all(step == right[step.step] for step in reader.steps)


def test_a_loss_of_which_nothing_can_be_known_counts_none() -> None:
    reader = StampReader()
    reader.read(stamped(FETCH)[:2])
    reader.skip(10)
    reader.read([(stamps.BACKWARD_BEGIN, 10**6, -1, 0)])
    reader.finish(10**7, 0)
    assert reader.clock.steps == 0
    assert list(reader.steps) == []


def test_a_loss_after_which_no_step_ends_goes_on_in_the_next_reading() -> None:
    row = stamped(CYCLES["accumulation"])
    reader = StampReader()
    reader.read(row[:50])
    reader.skip(2)
    for place in range(52, len(row)):
        reader.read(row[place : place + 1])
    reader.finish(row[-1][1], 0)
    assert reader.clock.steps == STEPS
    right = {step.step: step for step in read_all(row).steps}
    assert all(step == right[step.step] for step in reader.steps)


def test_the_epoch_goes_on_after_a_loss() -> None:
    row = stamped(CYCLES["plain"] * 5 + EPOCH)
    reader = StampReader()
    reader.read(row[:151])
    reader.skip(2)
    reader.read(row[153:])
    reader.finish(row[-1][1], 0)
    right = {step.step: step for step in read_all(row).steps}
    assert all(step == right[step.step] for step in reader.steps)
    assert reader.clock.steps == 5 * STEPS


def test_told_steps_that_are_lost_before_the_first_was_read_are_counted() -> None:
    row: list[Stamp] = [(stamps.EXPECT_STEPS, 1, 1, 0)]
    row += [(stamps.EXPLICIT_STEP, 10 * n, 10 * n, -1) for n in range(1, 301)]
    for lost in (1, 2, 150, 290):
        reader = StampReader()
        reader.read(row[:1])
        reader.skip(lost)
        reader.read(row[1 + lost :])
        reader.finish(5000, 0)
        assert reader.clock.steps == 300
        assert [step.step for step in reader.steps] == list(range(lost + 1, 300))
