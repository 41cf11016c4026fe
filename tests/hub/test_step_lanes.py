"""Phases, readings and workers in the blocks of a history, against figures worked out by hand."""

import msgspec
import pytest

from perftui.ipc.messages import FLAG_PHASES_UNKNOWN, FLAG_WAIT_UNKNOWN
from perftui.ipc.recording import Entry
from perftui.ipc.step_history import StepHistory
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.step_blocks import step_history
from perftui.trainer.hub.step_lanes import phase_lanes, with_lanes, worker_lanes
from tests.hub.made_messages import START_UNIX, hello
from tests.made_loader import made_loader
from tests.tui import scenes

MS = 1_000_000


def row(
    step: int, worker: int = -1, wait_ms: float = 4.0, flags: int = 0, comm_ms: float | None = None
) -> StepRecord:
    return StepRecord(
        step=step, end_ns=(step + 1) * 100 * MS, wall_ns=100 * MS, wait_ns=int(wait_ms * MS),
        forward_ns=20 * MS,
        backward_ns=50 * MS, optimizer_ns=10 * MS, cpu_ns=0, samples=8, micro_batches=1, epoch=0, flags=flags,
        comm_ns=-1 if comm_ms is None else int(comm_ms * MS), worker=worker,
    )  # fmt: skip


def fold_of(rows: list[StepRecord]) -> RunFold:
    fold = RunFold()
    fold.apply(Entry(unix=START_UNIX, message=hello()))
    fold.ranks[0].log.extend(rows)
    return fold


def laned(fold: RunFold, blocks: int) -> StepHistory:
    track = fold.ranks[0]
    history = step_history(track.log, 0, 0, None, blocks)
    assert history is not None
    return with_lanes(history, track, fold.readings)


def test_phases_are_means_of_a_block_and_sum_to_the_step() -> None:
    lanes = {lane.name: lane for lane in phase_lanes([[row(0), row(1, wait_ms=8.0, comm_ms=30.0)], []])}
    assert lanes["loader_wait"].values == [6.0, None]
    assert lanes["forward"].values == [20.0, None]
    assert lanes["other"].values == [14.0, None]
    assert lanes["comm_exposed"].values == [30.0, None], "of the steps in which it was looked at"
    assert lanes["h2d"].values == []
    assert lanes["h2d"].missing == "not measured in these steps"
    parts = ("loader_wait", "forward", "backward", "optimizer", "other")
    assert sum(lanes[name].values[0] or 0.0 for name in parts) == pytest.approx(100.0)


def test_what_was_not_known_is_none() -> None:
    lanes = {lane.name: lane.values for lane in phase_lanes([[row(0, flags=FLAG_PHASES_UNKNOWN)]])}
    assert (lanes["loader_wait"], lanes["backward"], lanes["other"]) == ([4.0], [], [])
    lanes = {lane.name: lane.values for lane in phase_lanes([[row(0, flags=FLAG_WAIT_UNKNOWN)]])}
    assert (lanes["loader_wait"], lanes["forward"], lanes["other"]) == ([], [], [40.0])


def test_a_worker_has_its_batches_and_how_long_they_were_waited_for() -> None:
    blocks = [[row(0, 0, 1.0), row(1, 1, 9.0)], [row(2, 0, 3.0), row(3, 0, 5.0)]]
    assert [(lane.worker, lane.batches, lane.wait_ms) for lane in worker_lanes(blocks)] == [
        (0, [1, 2], [1.0, 4.0]),
        (1, [1, 0], [9.0, None]),
    ]


def test_readings_stand_at_the_steps_that_ran_meanwhile() -> None:
    fold = fold_of([row(step) for step in range(40)])  # four seconds
    fold.ranks[0].gpu_uuid = "GPU-0"
    for second in range(1, 5):
        host = msgspec.structs.replace(scenes.HOST, name="h", run_busy=float(second))
        gpu = scenes.gpu(0, sm_active_share=second / 10, dram_active_share=None)
        fold.apply(Entry(unix=START_UNIX + second, hosts=[host], gpus=[gpu]))
    lanes = {(lane.of, lane.name): lane for lane in laned(fold, 4).lanes}
    assert lanes["host", "run_busy"].values == [1.0, 2.0, 3.0, 4.0]
    assert lanes["gpu", "sm_active_share"].values == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert lanes["gpu", "dram_active_share"].missing == "not read over these steps"
    assert lanes["workers", "cpu_share"].missing == "none seen"


def test_what_cannot_be_had_has_its_reason() -> None:
    fold = fold_of([row(step) for step in range(10)])
    found = laned(fold, 5)
    whys = {lane.name: lane.missing for lane in found.lanes}
    assert whys["sm_active_share"] == "this rank uses no GPU that can be read"
    assert whys["run_busy"] == "its host was not read"
    assert found.why_no_workers == "which worker made a batch is not known in these steps"
    fold.ranks[0].loader = made_loader(batches_per_epoch=4)
    assert laned(fold, 5).why_no_workers.startswith("the loader has no workers")


def test_older_steps_that_were_thinned_have_their_readings_too() -> None:
    fold = fold_of([row(step) for step in range(6000)])  # ten minutes, of which 4,096 steps are kept singly
    for second in range(1, 601):
        host = msgspec.structs.replace(scenes.HOST, name="h", run_busy=1.0 if second <= 100 else 2.0)
        fold.apply(Entry(unix=START_UNIX + second, hosts=[host]))
    found = laned(fold, 6)
    lanes = {lane.name: lane for lane in found.lanes if lane.of in ("step", "host")}
    assert lanes["run_busy"].values == pytest.approx([1.0, 2.0, 2.0, 2.0, 2.0, 2.0], abs=0.02)
    assert lanes["forward"].values[:1] == [None]
    assert lanes["forward"].values[3:] == [20.0] * 3
