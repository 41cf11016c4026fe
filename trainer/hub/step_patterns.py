"""What single steps tell beyond their means: by worker, by epoch, and over the whole run. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise

from perftui.ipc.messages import (
    FLAG_COMPILING,
    FLAG_EPOCH_START,
    FLAG_FAILED,
    FLAG_WAIT_UNKNOWN,
    UNUSUAL_FLAGS,
)
from perftui.ipc.step_record import StepRecord
from perftui.trainer.diagnosis.signals import EpochWait, StepPatterns
from perftui.trainer.hub.epoch_waits import EpochWaits
from perftui.trainer.hub.step_log import RAW_STEPS, WARM_STEPS, StepLog, quantile

_LEAST_FOR_FIFTHS = 50
_FIFTHS = 5


def patterns_of(log: StepLog, steps: int | None) -> StepPatterns:
    """Return the patterns of a rank's newest `steps` usual steps (None: of all that are kept)."""
    warm = min(WARM_STEPS, len(log) // 3)
    newest = _newest(log, warm, steps)
    usual = [row for row in newest if not row.flags & UNUSUAL_FLAGS]
    return StepPatterns(
        worker_wait_ms=_by_worker(usual),
        worker_steps=sum(row.worker >= 0 for row in usual),
        samples=_mean([float(row.samples) for row in usual if row.samples >= 0]),
        micro_batches=_mean([float(row.micro_batches) for row in usual]) or 1.0,
        comm_steps=sum(row.comm_ns >= 0 for row in usual),
        epochs=log.epoch_waits.all() if steps is None else _newest_epochs(newest),
        epoch_starts=sum(bool(row.flags & FLAG_EPOCH_START) for row in usual),
        epoch_start_ms=_mean([row.wait_ns / 1e6 for row in usual if row.flags & FLAG_EPOCH_START]),
        fifths_ms=_fifths(log),
        cpu_fifths_ms=_cpu_fifths(log, warm),
        run_steps=len(log),
        compiling=sum(bool(row.flags & FLAG_COMPILING) for row in newest),
        compiling_of=len(newest),
        compiling_share=_compiling_share(newest),
        failed=sum(bool(row.flags & FLAG_FAILED) for row in newest),
        wait_known=not usual or any(not row.flags & FLAG_WAIT_UNKNOWN for row in usual),
    )


def _newest(log: StepLog, warm: int, steps: int | None) -> list[StepRecord]:
    rows = (row for row in reversed(log.raw) if row.step >= warm)
    return list(rows if steps is None else islice(rows, steps))


def _by_worker(rows: Iterable[StepRecord]) -> dict[int, float]:
    """Return the mean wait for each worker's batches, in ms; heads of epochs wait for all to start."""
    waits: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        if row.worker >= 0 and not row.flags & FLAG_EPOCH_START:
            waits[row.worker].append(row.wait_ns)
    return {worker: sum(each) / len(each) / 1e6 for worker, each in sorted(waits.items())}


def _newest_epochs(newest: Iterable[StepRecord]) -> tuple[EpochWait, ...]:
    """Return the epochs of a window alone: of a first epoch long ago there is nothing to say any more."""
    waits = EpochWaits()
    waits.add(newest)
    return waits.all()


def _fifths(log: StepLog) -> tuple[float, ...]:
    """Return medians of five equal parts of the run; the older steps are means of several by then."""
    return _medians_of_fifths(log.thinned.usual_walls_ms(WARM_STEPS))


def _medians_of_fifths(values: Sequence[float]) -> tuple[float, ...]:
    if len(values) < _LEAST_FOR_FIFTHS:
        return ()
    cuts = [round(part * len(values) / _FIFTHS) for part in range(_FIFTHS + 1)]
    return tuple(quantile(sorted(values[a:b]), 0.5) for a, b in pairwise(cuts))


def _cpu_fifths(log: StepLog, warm: int) -> tuple[float, ...]:
    """Return the same of the training thread's CPU time, as long as all steps of the run are kept."""
    if len(log) > RAW_STEPS or len(log.raw) != len(log):
        return ()
    times = [
        row.cpu_ns / 1e6
        for row in log.raw
        if row.step >= warm and row.cpu_ns >= 0 and not row.flags & UNUSUAL_FLAGS
    ]
    return _medians_of_fifths(times)


def _compiling_share(rows: Sequence[StepRecord]) -> float | None:
    wall = sum(row.wall_ns for row in rows)
    return sum(row.wall_ns for row in rows if row.flags & FLAG_COMPILING) / wall if wall else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
