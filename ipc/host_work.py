"""What a host did in a profiling window beside launching; defined in docs/profiling.md."""

import msgspec


class HostWaits(msgspec.Struct, frozen=True, kw_only=True):
    """Waits for the device, shares of the host's time; those of copies from pageable memory left out."""

    in_calls: float
    in_operators: float
    """With the operators that make these calls: all that not making them would spare the host."""


class HostWork(msgspec.Struct, frozen=True, kw_only=True):
    """What the host did beside launching, loading and waiting while the device idled; of the window."""

    computing: float
    """In operators that launch nothing and take 100 µs or more: they compute on the CPU."""
    outside: float
    """In stretches of 1 ms or more outside of all operators: numpy, Python, files."""
    undrained: float
    """Of both the part in gaps that did not begin in a waiting call."""
