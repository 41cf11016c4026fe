"""The short cut for plain loops gives the very steps that the step clock gives, whatever loop it meets."""

from hypothesis import given, settings
from hypothesis import strategies as st

from perftui.trainer.probe import stamps
from perftui.trainer.probe.stamp_reader import StampReader
from perftui.trainer.probe.stamps import Stamp

TRAIN, VALIDATE = 2 * 1 + 1, 2 * 2
ADAM, SGD = 100, 200

FETCH = [(stamps.FETCH_BEGIN, TRAIN), (stamps.FETCH_END, 4)]
BACKWARD = [(stamps.BACKWARD_BEGIN, 0), (stamps.BACKWARD_END, 0)]
OPTIMIZE = [(stamps.OPTIMIZER_BEGIN, ADAM), (stamps.OPTIMIZER_END, 0)]
OTHER_OPTIMIZE = [(stamps.OPTIMIZER_BEGIN, SGD), (stamps.OPTIMIZER_END, 0)]
END = [(stamps.FETCH_BEGIN, TRAIN), (stamps.FETCH_FAILED, 0)]
ITERATE = [(stamps.ITERATOR_BEGIN, TRAIN), (stamps.ITERATOR_END, 0)]
PLAIN = FETCH + BACKWARD + OPTIMIZE
PIECES = {
    "plain": PLAIN * 6,
    "accumulated": (FETCH + BACKWARD) * 3 + OPTIMIZE,
    "gan": FETCH + BACKWARD + OPTIMIZE + BACKWARD + OTHER_OPTIMIZE,
    "epoch": END + ITERATE,
    "new iterator": ITERATE,
    "validation": [(stamps.ITERATOR_BEGIN, VALIDATE), (stamps.ITERATOR_END, 0)]
    + [(stamps.FETCH_BEGIN, VALIDATE), (stamps.FETCH_END, 2)] * 3
    + [(stamps.FETCH_BEGIN, VALIDATE), (stamps.FETCH_FAILED, 0)],
    "given up": FETCH,
    "raised": [*FETCH, (stamps.BACKWARD_BEGIN, 0), (stamps.BACKWARD_FAILED, 0)],
    "skipped": [*FETCH, *BACKWARD, (stamps.SCALER_BEGIN, ADAM), (stamps.SCALER_END, 0)],
    "scaled": [*FETCH, *BACKWARD, (stamps.SCALER_BEGIN, ADAM), *OPTIMIZE, (stamps.SCALER_END, 0)],
    "closure": [*FETCH, (stamps.OPTIMIZER_BEGIN, ADAM), *BACKWARD, *BACKWARD, (stamps.OPTIMIZER_END, 0)],
    "twice": FETCH + (BACKWARD + OPTIMIZE) * 2,
    "no loader": (BACKWARD + OPTIMIZE) * 3,
    "no size": [FETCH[0], (stamps.FETCH_END, -1), *BACKWARD, *OPTIMIZE],
    "no end": [FETCH[0], *BACKWARD, *OPTIMIZE],
    "said": [*PLAIN, (stamps.EXPLICIT_STEP, 7)],
    "other thread": [(stamps.RESTART, 0)],
    "saved": [(stamps.SAVE_BEGIN, 0)],
    "one ahead": [*ITERATE, *FETCH, *PLAIN * 6],
    "last of one ahead": [*END, *BACKWARD, *OPTIMIZE],
}


def stamped(names: list[str], gaps: list[int]) -> list[Stamp]:
    """Each training batch has a size of its own, so that one taken for another shows."""
    at_ns = 1000
    row: list[Stamp] = []
    for number, (code, value) in enumerate(pair for name in names for pair in PIECES[name]):
        at_ns += gaps[number % len(gaps)]
        value = number if (code, value) == FETCH[1] else value
        cpu_ns = at_ns // 2 if code in (stamps.FETCH_BEGIN, stamps.ITERATOR_BEGIN) else -1
        row.append((code, at_ns, cpu_ns, value))
    return row


def read_in_chunks(row: list[Stamp], sizes: list[int], length: int | None = None) -> StampReader:
    reader = StampReader(lambda _key: length)
    place = number = 0
    while place < len(row):
        size = sizes[number % len(sizes)]
        reader.read(row[place : place + size])
        place += size
        number += 1
    reader.finish(row[-1][1] + 50 if row else 0, 0)
    return reader


@settings(max_examples=300, deadline=None)
@given(
    names=st.lists(st.sampled_from(["plain", *PIECES]), min_size=1, max_size=25),
    gaps=st.lists(st.integers(0, 40), min_size=1, max_size=7),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=5),
    length=st.sampled_from([None, 1, 4, 5, 19]),
)
def test_the_short_cut_changes_nothing(
    names: list[str], gaps: list[int], sizes: list[int], length: int | None
) -> None:
    row = stamped(names, gaps)
    slow = read_in_chunks(row, [1], length)  # one stamp at a time never takes it
    quick = read_in_chunks(row, sizes, length)
    assert list(quick.steps) == list(slow.steps)
    assert list(quick.gaps) == list(slow.gaps)
    assert quick.clock.steps == slow.clock.steps


def steps_that_it_made(names: list[str], length: int | None = None) -> int:
    reader = StampReader(lambda _key: length)
    taken: list[int] = []
    advance = reader.clock.advance

    def note(step: int, *rest: int) -> None:
        taken.append(step - reader.clock.steps)
        advance(step, *rest)

    reader.clock.advance = note  # type: ignore[method-assign,assignment]
    reader.read(stamped(names, [7]))
    return sum(taken)


def test_the_short_cut_is_taken_in_plain_loops() -> None:
    plain = ["plain"] * 10
    assert steps_that_it_made(["new iterator", *plain]) == 57, "of 59 that are over, all but the first two"
    assert steps_that_it_made(["one ahead", *plain]) == 63, "of 65"
    assert steps_that_it_made(["new iterator", *plain], 20) == 55, "of 59, all but those that begin an epoch"
