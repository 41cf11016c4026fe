"""The seam between the sampler and a vendor's library.

Used only inside the sampler's process: calls into a driver can hang for good, and no other process may hang
with them.
"""

from typing import Protocol

from perftui.trainer.telemetry.gpu_readings import (
    FAST_FIGURES,
    RARE_FIGURES,
    SLOW_FIGURES,
    FastReading,
    RareReading,
    SlowReading,
)


class GpuUnavailable(Exception):
    """A library or its driver is not there, or refuses; the message says which."""


class GpuBackend(Protocol):
    """One vendor's library. GPUs are named by the UUID that a rank told, never by an index.

    No method raises for a GPU's sake: what cannot be read is None in the reading, with its reason.
    """

    name: str
    """Which library, with the driver's version where it tells."""

    def read_fast(self, uuid: str) -> FastReading:
        """Return the activity of one GPU."""
        ...

    def read_slow(self, uuid: str) -> SlowReading:
        """Return the state of one GPU."""
        ...

    def read_rare(self, uuid: str) -> RareReading:
        """Return what hardly changes on one GPU."""
        ...


class NoBackend:
    """No library: every figure is missing, for this reason."""

    name = "none"

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def read_fast(self, uuid: str) -> FastReading:
        """Return a reading without figures."""
        return FastReading(uuid=uuid, at_s=0.0, missing=dict.fromkeys(FAST_FIGURES, self.reason))

    def read_slow(self, uuid: str) -> SlowReading:
        """Return a reading without figures."""
        return SlowReading(uuid=uuid, at_s=0.0, missing=dict.fromkeys(SLOW_FIGURES, self.reason))

    def read_rare(self, uuid: str) -> RareReading:
        """Return a reading without figures."""
        return RareReading(uuid=uuid, at_s=0.0, missing=dict.fromkeys(RARE_FIGURES, self.reason))
