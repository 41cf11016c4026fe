"""Finished records become messages: pure, so that what goes on the wire can be tested without one."""

from collections.abc import Iterable, Iterator

from perftui.ipc.messages import (
    BLANK,
    FLAG_EPOCH_START,
    FLAG_WAIT_UNKNOWN,
    DeviceSteps,
    RankEvent,
    StepBatch,
)
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.device_times import DeviceTimes
from perftui.trainer.probe.saves import Save
from perftui.trainer.probe.shadow_log import ShadowCost
from perftui.trainer.probe.step_parts import GapRecord

STEPS_PER_FRAME = 2000


def consecutive(steps: Iterable[StepRecord]) -> Iterator[list[StepRecord]]:
    """Cut steps into frames: within one there is no gap, and not too many."""
    frame: list[StepRecord] = []
    for step in steps:
        if frame and (step.step != frame[-1].step + 1 or len(frame) >= STEPS_PER_FRAME):
            yield frame
            frame = []
        frame.append(step)
    if frame:
        yield frame


def step_batch(
    steps: list[StepRecord],
    probe_ns: int,
    hook_ns: int = 0,
    hook_steps: int = 0,
    shadow: ShadowCost | None = None,
) -> StepBatch:
    """Return consecutive steps as columns."""
    columns = [list(column) for column in zip(*steps, strict=True)]
    _, end, wall, wait, forward, backward, optimizer, cpu, samples, micro_batches, epoch, flags = columns[:12]
    h2d, comm, worker, tokens = (column if max(column) >= 0 else [] for column in columns[12:])
    return StepBatch(
        **BLANK,
        first_step=steps[0].step,
        end_ns=end,
        wall_ns=wall,
        wait_ns=wait,
        forward_ns=forward,
        backward_ns=backward,
        optimizer_ns=optimizer,
        cpu_ns=cpu,
        samples=samples,
        micro_batches=micro_batches,
        epoch=epoch,
        flags=flags,
        probe_ns=probe_ns,
        hook_ns=hook_ns,
        hook_steps=hook_steps,
        h2d_ns=h2d,
        comm_ns=comm,
        worker=worker,
        tokens=tokens,
        shadow_steps=0 if shadow is None else shadow.steps,
        shadow_us=None if shadow is None else shadow.wall.us,
        shadow_se_us=None if shadow is None else shadow.wall.se_us,
        shadow_cpu_us=None if shadow is None or shadow.cpu is None else shadow.cpu.us,
        shadow_cpu_se_us=None if shadow is None or shadow.cpu is None else shadow.cpu.se_us,
    )


def device_steps(placed: list[tuple[int, DeviceTimes]]) -> DeviceSteps:
    """Return sampled steps, as (index, times on the device), as columns."""
    steps = [step for step, _ in placed]
    total, wait, h2d, forward, backward, comm, optimizer, other = (
        list(column) for column in zip(*(times for _, times in placed), strict=True)
    )
    return DeviceSteps(
        **BLANK,
        step=steps,
        total_ms=total,
        wait_ms=wait,
        h2d_ms=h2d,
        forward_ms=forward,
        backward_ms=backward,
        comm_ms=comm,
        optimizer_ms=optimizer,
        other_ms=other,
    )


def events_of(steps: Iterable[StepRecord]) -> list[RankEvent]:
    """Return what is worth a mark among steps: a new epoch, as long as its loader took to begin anew."""
    events: list[RankEvent] = []
    for step in steps:
        if step.flags & FLAG_EPOCH_START and step.epoch > 0:
            begin = step.end_ns - step.wall_ns
            events.append(
                RankEvent(
                    **BLANK,
                    at_ns=begin,
                    event="epoch",
                    text=f"epoch {step.epoch}",
                    duration_ns=0 if step.flags & FLAG_WAIT_UNKNOWN else step.wait_ns,
                    step=step.step,
                )
            )
    return events


def validation_event(gap: GapRecord, step: int) -> RankEvent:
    """Return the event of a validation, which lies in a step or before it."""
    return RankEvent(
        **BLANK,
        at_ns=gap.at_ns,
        event="validation",
        text=f"{gap.batches} batches" if gap.batches else "without a loader",
        duration_ns=gap.duration_ns,
        step=step,
    )


def checkpoint_event(save: Save, step: int) -> RankEvent:
    """Return the event of a checkpoint."""
    return RankEvent(
        **BLANK,
        at_ns=save.at_ns,
        event="checkpoint",
        text=save.text,
        duration_ns=save.duration_ns,
        step=step,
        aside=not save.here,
    )
