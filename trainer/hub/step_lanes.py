"""What else happened over a stretch of a rank's steps, in the blocks of its `StepHistory`.

The phases of the step, its GPU, its host and its loader workers, each placed by the time at which the block's
steps ran; and which worker made the batches. Pure arithmetic over what the hub keeps.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from perftui.ipc.messages import FLAG_PHASES_UNKNOWN, FLAG_WAIT_UNKNOWN
from perftui.ipc.step_history import Lane, StepHistory, WorkerLane
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.reading_log import ReadingLog
from perftui.trainer.hub.readings import GPU_FIGURES, HOST_FIGURES, WORKER_FIGURES, Figure, Readings
from perftui.trainer.known_values import mean_of_known

_WORKERS_MAX = 64

_Means = list[float | None]


def with_lanes(history: StepHistory, track: RankTrack, readings: Readings) -> StepHistory:
    """Return the history with its lanes."""
    blocks = _rows_by_block(history, track)
    times = _times(history, blocks, track)
    workers = worker_lanes(blocks)
    lanes = phase_lanes(blocks)
    lanes += _reading_lanes(
        "gpu", GPU_FIGURES, readings.gpus.get(track.gpu_uuid or ""), times, _no_gpu(track)
    )
    lanes += _reading_lanes(
        "workers", WORKER_FIGURES, readings.workers.get(track.hello.rank), times, "none seen"
    )
    host = readings.hosts.get(track.hello.host)
    lanes += _reading_lanes("host", HOST_FIGURES, host, times, "its host was not read")
    return replace(
        history, lanes=lanes, workers=workers, why_no_workers="" if workers else _no_workers(track)
    )


def phase_lanes(blocks: Sequence[Sequence[StepRecord]]) -> list[Lane]:
    """Return the mean time (ms) of each phase a block; of older steps only their wait is known."""
    columns = {
        name: [mean_of_known([step[name] for step in steps]) for steps in map(_phases, blocks)]
        for name in _NAMES
    }
    return [
        Lane(name=name, of="step", unit="ms", values=values if any(v is not None for v in values) else [],
             missing="" if any(v is not None for v in values) else "not measured in these steps")
        for name, values in columns.items()
    ]  # fmt: skip


_NAMES = ("loader_wait", "h2d", "forward", "backward", "comm_exposed", "optimizer", "other")


def _phases(rows: Sequence[StepRecord]) -> list[dict[str, float | None]]:
    return [_phases_of(row) for row in rows]


def _phases_of(row: StepRecord) -> dict[str, float | None]:
    """Return a step's phases in ms; copy and communication are parts of forward and backward."""
    wait = None if row.flags & FLAG_WAIT_UNKNOWN else row.wait_ns / 1e6
    if row.flags & FLAG_PHASES_UNKNOWN:
        return dict.fromkeys(_NAMES) | {"loader_wait": wait}
    forward = None if wait is None else row.forward_ns / 1e6
    known = [part for part in (wait, forward) if part is not None]
    backward, optimizer = row.backward_ns / 1e6, row.optimizer_ns / 1e6
    return {
        "loader_wait": wait,
        "h2d": row.h2d_ns / 1e6 if row.h2d_ns >= 0 else None,
        "forward": forward,
        "backward": backward,
        "comm_exposed": row.comm_ns / 1e6 if row.comm_ns >= 0 else None,
        "optimizer": optimizer or None,  # none was seen
        "other": max(0.0, row.wall_ns / 1e6 - sum(known) - backward - optimizer),
    }


def worker_lanes(blocks: Sequence[Sequence[StepRecord]]) -> list[WorkerLane]:
    """Return of how many steps each loader worker made the last batch, and how long that was waited for."""
    numbers = sorted({row.worker for rows in blocks for row in rows if row.worker >= 0})[:_WORKERS_MAX]
    lanes: list[WorkerLane] = []
    for number in numbers:
        mine = [[row for row in rows if row.worker == number] for rows in blocks]
        waits = [
            mean_of_known([row.wait_ns / 1e6 for row in rows if not row.flags & FLAG_WAIT_UNKNOWN])
            for rows in mine
        ]
        lanes.append(WorkerLane(worker=number, batches=[len(rows) for rows in mine], wait_ms=waits))
    return lanes


def _no_workers(track: RankTrack) -> str:
    if track.loader is not None and track.loader.num_workers == 0:
        return "the loader has no workers: the training thread makes the batches itself"
    return "which worker made a batch is not known in these steps"


def _no_gpu(track: RankTrack) -> str:
    return "this rank uses no GPU that can be read" if track.gpu_uuid is None else "its GPU was not read"


def _rows_by_block(history: StepHistory, track: RankTrack) -> list[list[StepRecord]]:
    base, size = history.first_step // history.block_steps, history.block_steps
    blocks: list[list[StepRecord]] = [[] for _ in history.mean_ms]
    for row in track.log.since(max(history.first_step, history.exact_from)):
        if row.step <= history.last_step:
            blocks[row.step // size - base].append(row)
    return blocks


def _times(
    history: StepHistory, blocks: Sequence[Sequence[StepRecord]], track: RankTrack
) -> list[tuple[float, float] | None]:
    """Return from when to when (unix seconds) the steps of each block ran; None: not known."""
    thinned, size = track.log.thinned, history.block_steps
    base = history.first_step // size
    spans: list[tuple[int, int] | None] = [
        (rows[0].end_ns - rows[0].wall_ns, rows[-1].end_ns) if rows else None for rows in blocks
    ]
    steps = thinned.first_steps
    for point in thinned.over(history.first_step, history.last_step):
        begin_ns, end_ns = thinned.begin_ns[point], thinned.end_ns[point]
        place = max(steps[point], history.first_step) // size - base
        if not 0 <= place < len(spans) or blocks[place]:
            continue
        known = spans[place]
        spans[place] = (begin_ns if known is None else min(known[0], begin_ns), end_ns)
    offset = track.hello.wall_offset_ns
    return [span and ((span[0] + offset) / 1e9, (span[1] + offset) / 1e9) for span in spans]


def _reading_lanes(
    of: Literal["gpu", "host", "workers"],
    figures: Sequence[Figure],
    log: ReadingLog | None,
    times: Sequence[tuple[float, float] | None],
    why: str,
) -> list[Lane]:
    columns: Mapping[str, _Means] = log.over(times) if log is not None else {}
    lanes: list[Lane] = []
    for figure in figures:
        values = columns.get(figure.field, [])
        known = any(value is not None for value in values)
        missing = "" if known else why if log is None else "not read over these steps"
        lanes.append(
            Lane(name=figure.field, of=of, unit=figure.unit, values=values if known else [], missing=missing)
        )
    return lanes
