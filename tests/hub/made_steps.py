"""Steps of 10 ms, of which 4 are waiting for the loader, to which a test changes what it is about."""

from perftui.ipc.step_record import StepRecord

MS = 1_000_000


def row(step: int, wall_ms: float = 10.0, wait_ms: float = 4.0, flags: int = 0) -> StepRecord:
    return StepRecord(
        step=step, end_ns=step, wall_ns=int(wall_ms * MS), wait_ns=int(wait_ms * MS), forward_ns=0,
        backward_ns=0, optimizer_ns=0, cpu_ns=0, samples=8, micro_batches=1, epoch=0, flags=flags,
    )  # fmt: skip
