"""Steps of the plainest loop (fetch, backward, one optimizer), made without the step clock.

Apart because it is a short cut and nothing else: a test holds that it gives the very steps that the clock
gives. It makes nearly all steps of nearly all trainings, at a third of the work.
"""

from collections.abc import Sequence

from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.batch_sizes import samples_in, tokens_in
from perftui.trainer.probe.batches_ahead import BatchesAhead
from perftui.trainer.probe.stamps import (
    BACKWARD_BEGIN,
    BACKWARD_END,
    FETCH_BEGIN,
    FETCH_END,
    OPTIMIZER_BEGIN,
    OPTIMIZER_END,
    UNKNOWN_CPU,
    Stamp,
)

_CYCLE = (FETCH_END, BACKWARD_BEGIN, BACKWARD_END, OPTIMIZER_BEGIN, OPTIMIZER_END, FETCH_BEGIN)
CYCLE_STAMPS = len(_CYCLE)


def regular_steps(
    stamps: Sequence[Stamp], place: int, step: int, epoch: int, loader: int, ahead: BatchesAhead
) -> list[StepRecord]:
    """Return the steps that follow each other without anything else between them; none if there is any.

    Args:
        stamps: in order.
        place: of the fetch with which the first step begins.
        step: index of the first step.
        epoch: in which they lie.
        loader: key of the training loader.
        ahead: its batches that are not trained on yet; these steps pass theirs through it.
    """
    steps: list[StepRecord] = []
    _, begin_ns, begin_cpu_ns, _ = stamps[place]
    last = min(len(stamps) - CYCLE_STAMPS, place + ahead.room * CYCLE_STAMPS)
    while place < last:
        fetched, backward, backed, stepping, stepped, fetch = stamps[place + 1 : place + 1 + CYCLE_STAMPS]
        codes = (fetched[0], backward[0], backed[0], stepping[0], stepped[0], fetch[0])
        if codes != _CYCLE or fetch[3] >> 1 != loader or backward[3]:
            break
        wall_ns = fetch[1] - begin_ns
        known = begin_cpu_ns >= 0 and fetch[2] >= 0
        size = ahead.turn(fetched[3])
        steps.append(
            StepRecord(
                step,
                fetch[1],
                wall_ns,
                fetched[1] - begin_ns,
                backward[1] - fetched[1],
                backed[1] - backward[1],
                stepped[1] - stepping[1],
                min(fetch[2] - begin_cpu_ns, wall_ns) if known else UNKNOWN_CPU,
                samples_in(size),
                1,
                epoch,
                0,
                worker=fetched[2],
                tokens=tokens_in(size),
            )
        )
        step += 1
        place += CYCLE_STAMPS
        _, begin_ns, begin_cpu_ns, _ = fetch
    return steps
