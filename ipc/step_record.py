"""One finished step as a row. On the wire steps go as columns (`StepBatch`); both ends work with rows."""

from typing import NamedTuple


class StepRecord(NamedTuple):
    """One finished step; times in nanoseconds. Fields and their order are those of `StepBatch`."""

    step: int
    """Counts from 0 over the life of the process."""
    end_ns: int
    wall_ns: int
    wait_ns: int
    forward_ns: int
    backward_ns: int
    optimizer_ns: int
    cpu_ns: int
    samples: int
    micro_batches: int
    epoch: int
    flags: int
