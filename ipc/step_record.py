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
    h2d_ns: int = -1
    """Of the forward: copying to the device, on the host's clock; -1 where it was not looked at."""
    comm_ns: int = -1
    """Of the backward: waiting for communication with nothing else to do; -1 where it was not looked at."""
    worker: int = -1
    """Loader worker of the step's last batch; -1 without workers, or where it is not known."""
    tokens: int = -1
    """Of the batches that the step trained on, padding too; -1 where they hold none."""
